// Whether a file can be a shared library for this process. The loader trusts a file's headers, and
// crashes on one that was truncated.
#pragma once

#include <string>

namespace heaptape::allocators {

// Why `path` cannot be loaded, as the end of a sentence ("there is no file 'x'"); empty if it can.
std::string why_no_library(const std::string& path);

}  // namespace heaptape::allocators
