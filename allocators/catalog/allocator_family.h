// Which allocators lay blocks out alike, by the names of their libraries.
#pragma once

#include <string>

namespace heaptape::allocators {

// "glibc", or the name under which the catalog has the library at that path (a path or a file
// name); the name of its file where it is another. Empty for an empty path.
std::string allocator_family(const std::string& library);

}  // namespace heaptape::allocators
