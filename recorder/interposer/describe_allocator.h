// Describes this process's allocator, as far as its libraries tell without side effects.
#pragma once

#include "recorder/ring/allocator_facts.h"

namespace heaptape::recorder {

// `malloc_function` lies in the library that serves malloc. Allocates nothing, and calls only
// functions that return a constant.
AllocatorFacts describe_allocator(const void* malloc_function);

}  // namespace heaptape::recorder
