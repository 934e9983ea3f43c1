// For programs that say what they called, line for line as `heaptape dump` does, without calling
// anything that could allocate. C and C++.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static char oracle_text[1 << 17];
static size_t oracle_used;
static unsigned long oracle_calls;

static inline void put_text(const char* text) {
  const size_t length = strlen(text);
  memcpy(oracle_text + oracle_used, text, length);
  oracle_used += length;
}

static inline void put_digits(uint64_t value, unsigned base) {
  char digits[32];
  size_t at = sizeof digits;
  digits[--at] = 0;
  do {
    digits[--at] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  put_text(digits + at);
}

static inline void put_address(const void* address) {
  if (address == NULL) {
    put_text("NULL");
  } else {
    put_text("0x");
    put_digits((uint64_t)(uintptr_t)address, 16);
  }
}

static inline void begin_call(const char* op) {
  put_digits(++oracle_calls, 10);
  put_text(" t0 ");
  put_text(op);
  put_text("(");
}

static inline void* end_call(const void* result) {
  put_text(") = ");
  put_address(result);
  put_text("\n");
  return (void*)(uintptr_t)result;
}

// op(size) = result
static inline void* did_allocate(const char* op, uint64_t size, const void* result) {
  begin_call(op);
  put_digits(size, 10);
  return end_call(result);
}

// op(alignment, size) = result
static inline void* did_align(const char* op, uint64_t alignment, uint64_t size,
                              const void* result) {
  begin_call(op);
  put_digits(alignment, 10);
  put_text(", ");
  put_digits(size, 10);
  return end_call(result);
}

// op(old, size) = result
static inline void* did_resize(const char* op, const void* old, uint64_t size, const void* result) {
  begin_call(op);
  put_address(old);
  put_text(", ");
  put_digits(size, 10);
  return end_call(result);
}

// op(block)
static inline void did_release(const char* op, const void* block) {
  begin_call(op);
  put_address(block);
  put_text(")\n");
}

static inline void print_oracle(void) {
  size_t written = 0;
  while (written < oracle_used) {
    const ssize_t got = write(STDOUT_FILENO, oracle_text + written, oracle_used - written);
    if (got <= 0) _exit(99);
    written += (size_t)got;
  }
}
