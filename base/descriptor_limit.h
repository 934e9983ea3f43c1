// Whether this process is about to run out of descriptors.
#pragma once

#include <sys/resource.h>

namespace heaptape::base {

// Whether `descriptor`, the lowest free number when it was opened, is one of the last `count` that
// this process's limit allows. False if there is no limit.
inline bool is_among_last(int descriptor, rlim_t count) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  return static_cast<rlim_t>(descriptor) + count >= limit.rlim_cur;
}

}  // namespace heaptape::base
