// Which settings a library does not read: a guess based on the text in its file.
#pragma once

#include <string>
#include <vector>

namespace heaptape::allocators {

// The variables in `environment` (NAME=VALUE each) and the tunables in GLIBC_TUNABLES whose names
// are not in the file at `library`. A name that begins with MIMALLOC_ also counts as present if
// that prefix and the rest are in the file separately, in any letter case, because mimalloc
// composes its names. glibc's libc is searched together with its loader. Empty if the file cannot
// be read; never includes the loader's own variables (LD_...).
std::vector<std::string> unread_names(const std::string& library,
                                      const std::vector<std::string>& environment);

}  // namespace heaptape::allocators
