// Code that only passes memory on to its callers, so it cannot be a site. The list is in
// docs/metrics.md, "Sites".
#pragma once

#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// An allocator's entry point or a wrapper of one, by function name.
bool is_allocation_function(const SourceFrame& source);

// Allocators, their entry points and wrappers of these, and the standard libraries of C++ and Rust.
// `source` is one of the place's, or null if not known.
bool is_allocation_wrapper(const CodePlace& place, const SourceFrame* source);

}  // namespace heaptape::replayer
