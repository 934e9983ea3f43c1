// Whether a library reads an environment variable: a guess from the text in its file.
#pragma once

#include <string>

namespace heaptape::allocators {

// False only where the file at `library` has neither `name` nor, as libraries do that put names
// together, its prefix up to the first '_' and the rest apart, both in any case. For glibc's libc
// the loader beside it is asked, too. True where the file cannot be read, and for the variables of
// the loader itself (LD_...).
bool reads_variable(const std::string& library, const std::string& name);

}  // namespace heaptape::allocators
