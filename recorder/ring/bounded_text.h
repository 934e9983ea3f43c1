// Text in fields of fixed size, and numbers as text, without libc's stdio. Free of the C++ run-time
// library.
#pragma once

#include <cstddef>
#include <cstring>

namespace heaptape::recorder {

// As much of `text` as fits, ended by 0.
template <size_t kBytes>
void copy_text(char (&out)[kBytes], const char* text) {
  const size_t length = strnlen(text, kBytes - 1);
  std::memcpy(out, text, length);
  out[length] = 0;
}

// Writes the number in decimal, without a final 0; at most 10 bytes. Returns the end.
inline char* write_decimal(char* out, unsigned number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
  } while ((number /= 10) != 0);
  while (count > 0) *out++ = digits[--count];
  return out;
}

}  // namespace heaptape::recorder
