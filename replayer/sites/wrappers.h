// Code that hands memory on to whom asked for it: no answer to the question who did. The list is in
// docs/metrics.md, "Sites".
#pragma once

#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// An entry point of an allocator, or what wraps one, by the name of the function.
bool is_allocation_function(const SourceFrame& source);

// Entry points of allocators and those that wrap them, allocators themselves, and standard
// libraries of C++ and Rust. `source` is one of the place's, or null where it is not known.
bool is_allocation_wrapper(const CodePlace& place, const SourceFrame* source);

}  // namespace heaptape::replayer
