// Which allocators lay blocks out alike.
#pragma once

#include <string>

namespace heaptape::allocators {

// The family of the library at that path (see schema::malloc_family), or the name of its file where
// it is of none. Empty for an empty path.
std::string allocator_family(const std::string& library);

}  // namespace heaptape::allocators
