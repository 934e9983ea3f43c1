#include "scenarios/cpython27.h"

#include "base/check.h"

namespace heaptape::scenarios::cpython27 {

uint64_t bytearray_capacity(uint64_t capacity, uint64_t length) {
  if (length < capacity / 2) return length + 1;
  if (length < capacity) return capacity;
  const bool slow_growth = 8 * length <= 9 * capacity;
  return slow_growth ? length + length / 8 + (length < 9 ? 3 : 6) : length + 1;
}

Str::Str(HeapWriter& heap, uint64_t length) : heap_(&heap), length_(length) {
  if (length < 2) return;
  body_.reset(new Body{heap, heap.malloc(kStrOverheadBytes + length)});
}

Str Str::slice(uint64_t begin, uint64_t end) const {
  HEAPTAPE_CHECK(begin <= end && end <= length_);
  return end - begin == length_ ? *this : Str(*heap_, end - begin);
}

void Str::append(const Str& piece) {
  if (length_ == 0) {
    *this = piece;
    return;
  }
  const uint64_t total = length_ + piece.length_;
  if (body_.use_count() == 1) {
    heap_->realloc(body_->block, kStrOverheadBytes + total);
    length_ = total;
  } else if (piece.length_ != 0) {
    *this = Str(*heap_, total);
  }
}

ByteArray::~ByteArray() {
  if (buffer_.address != 0) heap_.free(buffer_);
}

void ByteArray::extend(uint64_t count) {
  length_ += count;
  const uint64_t capacity = bytearray_capacity(buffer_.size, length_);
  if (capacity == buffer_.size || count == 0) return;
  if (buffer_.address == 0) {
    buffer_ = heap_.malloc(capacity);
  } else {
    heap_.realloc(buffer_, capacity);
  }
}

}  // namespace heaptape::scenarios::cpython27
