#include <algorithm>
#include <ostream>

#include "allocators/catalog/catalog.h"
#include "base/parameters.h"
#include "cli/commands.h"

namespace heaptape::cli {

int run_allocators(Console& console) {
  const schema::TapeHeader no_tape;
  size_t width = 0;
  for (const auto& entry : allocators::catalog()) width = std::max(width, entry.name.size());
  for (const auto& entry : allocators::catalog()) {
    console.out() << entry.name << std::string(width - entry.name.size() + 2, ' ')
                  << entry.description;
    const bool is_pattern = entry.name.find("PATH") != std::string::npos;
    if (!is_pattern) {
      const allocators::BackendSpec spec{entry.name, entry.name, {}};
      auto backend = allocators::make_backend(spec, {&no_tape, allocators::Touch::kNone});
      const bool loads = backend.ok() && (*backend)->start().ok();
      if (!loads) console.out() << "  [not available here]";
    }
    console.out() << "\n" << base::parameter_lines(entry.parameters, "    :");
  }
  return console.finish();
}

}  // namespace heaptape::cli
