// HEAPTAPE_CHECK: stops the program on a bug of ours, in every build. Never used in the
// interposer, which must not end its host, and never for bad input, which is a Result.
#pragma once

#include <cstdio>
#include <cstdlib>

#define HEAPTAPE_CHECK(condition)                                                              \
  do {                                                                                         \
    if (!(condition)) [[unlikely]] {                                                           \
      std::fprintf(stderr, "heaptape: internal error: %s does not hold (%s:%d)\n", #condition, \
                   __FILE__, __LINE__);                                                        \
      std::abort();                                                                            \
    }                                                                                          \
  } while (false)
