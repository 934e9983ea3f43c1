#include <fcntl.h>

#include <algorithm>
#include <ostream>

#include "allocators/catalog/catalog.h"
#include "allocators/catalog/installed_libraries.h"
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

// One line of the list: a name and its description.
struct Line {
  std::string name;
  std::string text;
  std::string below = "";  // further lines
};

std::string version_and_path(const std::string& version, const std::string& path) {
  constexpr size_t kVersionWidth = 8;
  const std::string shown = version.empty() ? "-" : version;
  return shown + std::string(kVersionWidth - std::min(shown.size(), kVersionWidth - 1), ' ') + path;
}

void append_family(const std::string& family, std::vector<Line>& lines) {
  const auto libraries = allocators::installed_libraries(family, allocators::Versions::kAll);
  for (const auto& library : libraries) {
    lines.push_back({family, version_and_path(library.version, library.path)});
  }
  if (!libraries.empty()) return;
  lines.push_back(
      {family, version_and_path("", "not installed: ") + allocators::how_to_install(family)});
}

void append_glibc(std::vector<Line>& lines) {
  const schema::TapeHeader no_tape;
  const auto spec = allocators::parse_spec("glibc");
  const auto backend = spec->make({&no_tape, allocators::Touch::kNone});
  const bool can_start = backend->start().ok();
  lines.push_back({"glibc", can_start ? version_and_path(backend->version(), backend->library())
                                      : "[not available here]"});
}

// A family has a line for each installed library, newest first; -a takes the first.
void print_catalog(std::ostream& out) {
  std::vector<Line> lines;
  for (const auto& entry : allocators::catalog()) {
    if (entry.name == "glibc") {
      append_glibc(lines);
    } else if (entry.is_family()) {
      append_family(entry.name, lines);
    } else {
      lines.push_back(
          {entry.name, entry.description, base::parameter_lines(entry.parameters, "    :")});
    }
  }
  size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  for (const Line& line : lines) {
    out << line.name << std::string(width - line.name.size() + 2, ' ') << line.text << "\n"
        << line.below;
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
  listed.version = backend->version();
  return listed;
}

// Allocators that need no path, and each installed one of a family: "mimalloc", which is the
// newest, and "mimalloc@2.0.9".
std::vector<std::string> catalog_names() {
  std::vector<std::string> names;
  for (const auto& entry : allocators::catalog()) {
    if (!entry.takes_path()) names.push_back(entry.name);
    if (!entry.is_family()) continue;
    const auto libraries = allocators::installed_libraries(entry.name, allocators::Versions::kAll);
    for (size_t i = 1; i < libraries.size(); ++i) {
      const auto& [path, version] = libraries[i];
      const bool is_named = !version.empty() && version != libraries[i - 1].version;
      names.push_back(entry.name + "@" + (is_named ? version : path));
    }
  }
  return names;
}

base::Result<std::string> json(const std::vector<std::string>& texts, const std::string& worker) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto specs, parse_specs(texts));
  replayer::AllocatorList list;
  list.engine_build_ids = {build_id_of("/proc/self/exe"), build_id_of(worker)};
  for (const BackendSpec& spec : specs) list.allocators.push_back(listed(spec));
  return replayer::allocator_list_json(list);
}

}  // namespace

int run_allocators(const AllocatorsOptions& options, Console& console) {
  const auto worker = base::find_private_file("heaptape-worker");
  if (!worker.ok()) return console.fail(worker.error());
  if (options.format == Format::kText) {
    if (!options.specs.empty()) return console.fail("-a needs --json");
    print_catalog(console.out());
    return console.finish();
  }
  const auto text = json(options.specs.empty() ? catalog_names() : options.specs, *worker);
  if (!text.ok()) return console.fail(text.error());
  console.out() << *text;
  return console.finish();
}

}  // namespace heaptape::cli
