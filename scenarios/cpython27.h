// The malloc calls of long strings in CPython 2.7, with sizes from Objects/stringobject.c,
// Objects/bytearrayobject.c and string_concatenate in Python/ceval.c. Every object goes to malloc,
// as in a build without pymalloc.
#pragma once

#include <cstdint>
#include <memory>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios::cpython27 {

// A str without its characters: three words, the hash, the state and the final NUL.
inline constexpr uint64_t kStrOverheadBytes = 37;

// The new capacity of a bytearray of `capacity` bytes that must hold `length`.
uint64_t bytearray_capacity(uint64_t capacity, uint64_t length);

// A reference to a str; copies are further references, and the last one frees the memory. '' and
// strings of one character are shared by the whole interpreter and take no memory.
class Str {
 public:
  Str() = default;
  Str(HeapWriter& heap, uint64_t length);

  uint64_t length() const { return length_; }
  // s[begin:end], where begin <= end <= length. A slice of all of s is s itself.
  Str slice(uint64_t begin, uint64_t end) const;
  // s += piece. An only reference grows by realloc to the exact size; otherwise a new str is made.
  void append(const Str& piece);
  // The memory stays allocated after the last reference is gone, until the end of the tape.
  void keep_for_good() {
    if (body_) body_->block = {};
  }

 private:
  struct Body {
    HeapWriter& heap;
    Block block;
    ~Body() {
      if (block.address != 0) heap.free(block);
    }
  };

  HeapWriter* heap_ = nullptr;
  uint64_t length_ = 0;
  std::shared_ptr<Body> body_;
};

// The buffer only: the object itself is small and short-lived.
class ByteArray {
 public:
  explicit ByteArray(HeapWriter& heap) : heap_(heap) {}
  ~ByteArray();
  ByteArray(const ByteArray&) = delete;
  ByteArray& operator=(const ByteArray&) = delete;

  uint64_t length() const { return length_; }
  // b += `count` bytes.
  void extend(uint64_t count);

 private:
  HeapWriter& heap_;
  Block buffer_;  // its size is the capacity
  uint64_t length_ = 0;
};

}  // namespace heaptape::scenarios::cpython27
