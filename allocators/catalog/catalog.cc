#include "allocators/catalog/catalog.h"

#include <algorithm>
#include <iterator>

#include "allocators/catalog/model_list.h"

namespace heaptape::allocators {
namespace {

constexpr PackagedAllocator kPackaged[] = {
    {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
    {"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
};

}  // namespace

const std::vector<CatalogEntry>& catalog() {
  static const std::vector<CatalogEntry> entries = [] {
    using enum BackendKind;
    std::vector<CatalogEntry> list = {
        {"recorded", kRecorded, "the recorded run itself, as the tape has it"},
        {"noop", kNoop, "no allocator: what the replay itself costs"},
        {"glibc", kNative, "the malloc of this system's libc"},
    };
    for (const PackagedAllocator& allocator : kPackaged) {
      list.push_back({allocator.name, kNative,
                      std::string(allocator.library) + ", Debian package " + allocator.package});
    }
    list.push_back({"lib:PATH", kNative, "any shared library that exports malloc"});
    for (const ModelEntry& model : models()) {
      list.push_back({model.name, kModel, model.description, model.parameters()});
    }
    list.push_back({"plugin:PATH", kPlugin, "a model of yours, see docs/howto-plugin.md"});
    return list;
  }();
  return entries;
}

const PackagedAllocator* find_packaged(std::string_view name) {
  const auto found = std::ranges::find(kPackaged, name, &PackagedAllocator::name);
  return found == std::end(kPackaged) ? nullptr : found;
}

}  // namespace heaptape::allocators
