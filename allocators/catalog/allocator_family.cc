#include "allocators/catalog/allocator_family.h"

#include "allocators/catalog/catalog.h"
#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

std::string allocator_family(const std::string& library) {
  if (schema::is_glibc(library)) return "glibc";
  const std::string file = library.substr(library.rfind('/') + 1);
  for (const CatalogEntry& entry : catalog()) {
    if (find_packaged(entry.name) != nullptr && file.starts_with("lib" + entry.name)) {
      return entry.name;
    }
  }
  return file;
}

}  // namespace heaptape::allocators
