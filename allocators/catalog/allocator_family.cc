#include "allocators/catalog/allocator_family.h"

#include "schema/tape/malloc_library.h"

namespace heaptape::allocators {
namespace {

std::string family_or_file(const std::string& family, const std::string& library) {
  return family.empty() ? library.substr(library.rfind('/') + 1) : family;
}

}  // namespace

std::string allocator_family(const std::string& library) {
  return family_or_file(schema::malloc_family(library), library);
}

std::string allocator_family(const schema::TapeHeader& header) {
  return family_or_file(header.allocator_family(), header.allocator);
}

}  // namespace heaptape::allocators
