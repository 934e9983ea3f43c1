// Tells which allocators lay out blocks alike.
#pragma once

#include <string>

#include "schema/tape/tape_info.h"

namespace heaptape::allocators {

// The family of the library at that path (see schema::malloc_family), or its file name if it
// belongs to none. Empty for an empty path.
std::string allocator_family(const std::string& library);

// The same for the allocator that a tape was recorded on.
std::string allocator_family(const schema::TapeHeader& header);

}  // namespace heaptape::allocators
