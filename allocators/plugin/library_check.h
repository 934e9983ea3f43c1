// Whether a file can be a shared library for this process. The loader takes files for what their
// headers say, and dies of one that was cut short.
#pragma once

#include <string>

namespace heaptape::allocators {

// What speaks against loading `path`, as the end of a sentence ("there is no file 'x'"); empty if
// nothing does.
std::string why_no_library(const std::string& path);

}  // namespace heaptape::allocators
