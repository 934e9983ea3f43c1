// Which settings a library does not read: a guess from the text in its file.
#pragma once

#include <string>
#include <vector>

namespace heaptape::allocators {

// Of the variables in `environment` (NAME=VALUE each), and of the tunables in GLIBC_TUNABLES, the
// names that the file at `library` does not have: whole, or, as libraries do that put names
// together, MIMALLOC_ and the rest apart, both in any case. For glibc's libc the loader beside it
// is asked, too. None if the file cannot be read; never those of the loader itself (LD_...).
std::vector<std::string> unread_names(const std::string& library,
                                      const std::vector<std::string>& environment);

}  // namespace heaptape::allocators
