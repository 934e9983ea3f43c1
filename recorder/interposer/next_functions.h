// The other functions that the preload library defines, besides the allocator's, and the next
// definitions in lookup order, which they forward to.
#pragma once

#include <cstdio>

namespace heaptape::recorder {

// X(symbol, result, parameters). Types that only pass through are void.
#define HEAPTAPE_FORWARDED_FUNCTIONS(X)                                                           \
  X(execve, int, (const char*, char* const*, char* const*))                                       \
  X(execvpe, int, (const char*, char* const*, char* const*))                                      \
  X(fexecve, int, (int, char* const*, char* const*))                                              \
  X(posix_spawn, int, (int*, const char*, const void*, const void*, char* const*, char* const*))  \
  X(posix_spawnp, int, (int*, const char*, const void*, const void*, char* const*, char* const*)) \
  X(system, int, (const char*))                                                                   \
  X(popen, FILE*, (const char*, const char*))                                                     \
  X(prctl, int, (int, unsigned long, unsigned long, unsigned long, unsigned long))                \
  X(syscall, long, (long, long, long, long, long, long, long))                                    \
  X(mmap, void*, (void*, size_t, int, int, int, long))                                            \
  X(munmap, int, (void*, size_t))                                                                 \
  X(mremap, void*, (void*, size_t, size_t, int, void*))                                           \
  X(mprotect, int, (void*, size_t, int))                                                          \
  X(madvise, int, (void*, size_t, int))                                                           \
  X(brk, int, (void*))                                                                            \
  X(sbrk, void*, (long))                                                                          \
  X(dlopen, void*, (const char*, int))                                                            \
  X(dlclose, int, (void*))

struct NextFunctions {
#define HEAPTAPE_FIELD(symbol, result, parameters) result(*symbol) parameters;
  HEAPTAPE_FORWARDED_FUNCTIONS(HEAPTAPE_FIELD)
#undef HEAPTAPE_FIELD
  void* (*dlmopen)(long, const char*, int);  // glibc only; else null
};

// Looks them up, once. Called with the first call to the allocator, so that children of fork, where
// the loader's lock may be held forever, find them known.
const NextFunctions& next_functions();
bool are_next_functions_known();

// Whether libc is glibc rather than musl.
bool is_glibc();

}  // namespace heaptape::recorder
