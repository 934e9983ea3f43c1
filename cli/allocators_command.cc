#include <algorithm>
#include <ostream>

#include "allocators/catalog/catalog.h"
#include "base/parameters.h"
#include "cli/allocator_words.h"
#include "cli/commands.h"

namespace heaptape::cli {
namespace {

bool can_start(const std::string& name) {
  const auto spec = allocators::parse_spec(name);
  return spec.ok() && try_start(*spec).ok();
}

}  // namespace

int run_allocators(Console& console) {
  size_t width = 0;
  for (const auto& entry : allocators::catalog()) width = std::max(width, entry.name.size());
  for (const auto& entry : allocators::catalog()) {
    console.out() << entry.name << std::string(width - entry.name.size() + 2, ' ')
                  << entry.description;
    if (!entry.takes_path() && !can_start(entry.name)) console.out() << "  [not available here]";
    console.out() << "\n" << base::parameter_lines(entry.parameters, "    :");
  }
  return console.finish();
}

}  // namespace heaptape::cli
