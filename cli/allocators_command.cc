#include <fcntl.h>

#include <algorithm>
#include <ostream>

#include "allocators/catalog/catalog.h"
#include "base/descriptor.h"
#include "base/install_paths.h"
#include "base/parameters.h"
#include "cli/allocator_words.h"
#include "cli/commands.h"
#include "replayer/report/allocator_list.h"
#include "replayer/symbols/debug_files.h"

namespace heaptape::cli {
namespace {

using allocators::BackendSpec;

bool can_start(const std::string& name) {
  const auto spec = allocators::parse_spec(name);
  return spec.ok() && try_start(*spec).ok();
}

void print_catalog(std::ostream& out) {
  size_t width = 0;
  for (const auto& entry : allocators::catalog()) width = std::max(width, entry.name.size());
  for (const auto& entry : allocators::catalog()) {
    out << entry.name << std::string(width - entry.name.size() + 2, ' ') << entry.description;
    if (!entry.takes_path() && !can_start(entry.name)) out << "  [not available here]";
    out << "\n" << base::parameter_lines(entry.parameters, "    :");
  }
}

std::string build_id_of(const std::string& path) {
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? replayer::build_id_of(file) : "";
}

replayer::ListedAllocator listed(const BackendSpec& spec) {
  replayer::ListedAllocator listed{.spec = spec};
  const schema::TapeHeader no_tape;
  const auto backend = spec.make({&no_tape, allocators::Touch::kNone});
  listed.is_available = backend->start().ok();
  if (!listed.is_available) return listed;
  listed.library = spec.kind == allocators::BackendKind::kPlugin ? spec.file() : backend->library();
  if (!listed.library.empty()) listed.build_id = build_id_of(listed.library);
  return listed;
}

// Those that need no path.
std::vector<std::string> catalog_names() {
  std::vector<std::string> names;
  for (const auto& entry : allocators::catalog()) {
    if (!entry.takes_path()) names.push_back(entry.name);
  }
  return names;
}

base::Result<std::string> json(const std::vector<std::string>& texts) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto specs, parse_specs(texts));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto worker, base::find_private_file("heaptape-worker"));
  replayer::AllocatorList list;
  list.engine_build_ids = {build_id_of("/proc/self/exe"), build_id_of(worker)};
  for (const BackendSpec& spec : specs) list.allocators.push_back(listed(spec));
  return replayer::allocator_list_json(list);
}

}  // namespace

int run_allocators(const AllocatorsOptions& options, Console& console) {
  if (options.format == Format::kText) {
    if (!options.specs.empty()) return console.fail("-a is for --json: add it");
    print_catalog(console.out());
    return console.finish();
  }
  const auto text = json(options.specs.empty() ? catalog_names() : options.specs);
  if (!text.ok()) return console.fail(text.error());
  console.out() << *text;
  return console.finish();
}

}  // namespace heaptape::cli
