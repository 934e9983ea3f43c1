// What serves malloc in this process, as far as its libraries say without doing anything.
#pragma once

#include "recorder/ring/allocator_facts.h"

namespace heaptape::recorder {

// `malloc_function` lies in the library that serves malloc. Allocates nothing; only functions are
// called that return a constant.
AllocatorFacts describe_allocator(const void* malloc_function);

}  // namespace heaptape::recorder
