// How a program steers its allocator: hooks_steering.cc.
#pragma once

namespace heaptape::recorder {

// Finds the functions that those hooks forward to, and redirects references to those that are not
// interposed, if this process is recorded. `malloc_function` lies in the library that serves
// malloc. Once, while the real functions are looked up.
void find_steering_functions(const void* malloc_function);

}  // namespace heaptape::recorder
