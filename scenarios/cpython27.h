// What CPython 2.7 asks malloc for when a program handles long strings: sizes by
// Objects/stringobject.c, Objects/bytearrayobject.c and string_concatenate of Python/ceval.c, of a
// build where every object goes to malloc (no pymalloc).
#pragma once

#include <cstdint>
#include <memory>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios::cpython27 {

// What a str costs beyond its characters: three words, the hash, the state and the final NUL.
inline constexpr uint64_t kStrOverheadBytes = 37;

// The buffer of a bytearray with room for `capacity` bytes that is to hold `length`.
uint64_t bytearray_capacity(uint64_t capacity, uint64_t length);

// A reference to a str; copies are further references. The memory goes with the last one. '' and
// strings of one character are shared by the whole interpreter and take none.
class Str {
 public:
  Str() = default;
  Str(HeapWriter& heap, uint64_t length);

  uint64_t length() const { return length_; }
  // s[begin:end], where 0 <= begin <= end <= length: of all of s, s itself.
  Str slice(uint64_t begin, uint64_t end) const;
  // s += piece. Grows in place (by realloc, to the very size) where this is the only reference.
  void append(const Str& piece);
  // Its memory stays allocated when the last reference is gone: to the end of the tape.
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

// Only its buffer: the object itself is small and short-lived.
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
