// mimalloc's version number as text. Does not need the C++ run-time library: the interposer and
// the worker both ask mi_version().
#pragma once

#include <cstddef>

namespace heaptape::base {

// "2.0.9" for 209, "2.4.1" for 20401: MI_MALLOC_VERSION in mimalloc's include/mimalloc.h, which had
// one digit each for major, minor and patch, and later two for minor and patch. Empty if the number
// is neither.
template <size_t kBytes>
void write_mimalloc_version(char (&out)[kBytes], int number) {
  static_assert(kBytes >= sizeof "99.99.99");
  char* end = out;
  const auto put = [&end](int part) {
    if (part >= 10) *end++ = static_cast<char>('0' + part / 10);
    *end++ = static_cast<char>('0' + part % 10);
  };
  const int base = number < 1000 ? 10 : 100;
  if ((number > 0 && number < 1000) || (number >= 10'000 && number < 1'000'000)) {
    put(number / base / base);
    *end++ = '.';
    put(number / base % base);
    *end++ = '.';
    put(number % base);
  }
  *end = 0;
}

}  // namespace heaptape::base
