#include "allocators/catalog/catalog.h"

#include "allocators/catalog/installed_libraries.h"
#include "allocators/catalog/model_list.h"

namespace heaptape::allocators {

const std::vector<CatalogEntry>& catalog() {
  static const std::vector<CatalogEntry> entries = [] {
    using enum BackendKind;
    std::vector<CatalogEntry> list = {
        {"recorded", kRecorded, "the recorded run itself, as on the tape"},
        {"noop", kNoop, "no allocator: the cost of the replay itself"},
        {"glibc", kNative, "the malloc of this system's libc"},
    };
    for (const std::string& family : library_families()) {
      list.push_back({family, kNative, "the newest one installed"});
    }
    list.push_back({"FAMILY@PATH", kNative,
                    "one of these by path, or, as FAMILY@VERSION, by a version above"});
    list.push_back({"lib:PATH", kNative, "any shared library that exports malloc"});
    for (const ModelEntry& model : models()) {
      list.push_back({model.name, kModel, model.description, model.parameters()});
    }
    list.push_back({"plugin:PATH", kPlugin, "your own model, see docs/howto-plugin.md"});
    return list;
  }();
  return entries;
}

}  // namespace heaptape::allocators
