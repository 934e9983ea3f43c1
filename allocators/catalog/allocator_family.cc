#include "allocators/catalog/allocator_family.h"

#include "schema/tape/malloc_library.h"

namespace heaptape::allocators {

std::string allocator_family(const std::string& library) {
  const std::string family = schema::malloc_family(library);
  return family.empty() ? library.substr(library.rfind('/') + 1) : family;
}

}  // namespace heaptape::allocators
