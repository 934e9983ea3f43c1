// A table indexed by small numbers that grows without moving its elements: the first touch of a
// page costs a microsecond, and a vector touches each page several times over.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

#include "base/address/pages.h"

namespace heaptape::base {

// T must be valid when all its bytes are 0, as every new element is. Elements never move. Memory is
// taken from the system page by page. One thread.
template <typename T>
class SlotTable {
  static constexpr size_t kChunkBytes = size_t{2} << 20;
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(kPageBytes % sizeof(T) == 0, "grow() writes one element of each page");

 public:
  SlotTable() = default;
  ~SlotTable() {
    for (T* const chunk : chunks_) munmap(chunk, kChunkBytes);
  }
  SlotTable(const SlotTable&) = delete;
  SlotTable& operator=(const SlotTable&) = delete;

  size_t size() const { return size_; }
  T& operator[](size_t number) { return chunks_[number / kChunk][number % kChunk]; }
  const T& operator[](size_t number) const { return chunks_[number / kChunk][number % kChunk]; }

  // Makes room for at least `size` elements. Throws std::bad_alloc like any container.
  void grow(size_t size) {
    while (chunks_.size() * kChunk < size) add_chunk();
    // A page that is read before it is written costs the system two faults.
    for (; written_ < size; written_ += kPerPage) {
      *reinterpret_cast<volatile char*>(&(*this)[written_]) = 0;
    }
    if (size > size_) size_ = size;
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    visit_until([&visit](const T& element) {
      visit(element);
      return false;
    });
  }
  // Until visit(element) returns true.
  template <typename Visit>
  void visit_until(Visit visit) const {
    for (size_t begin = 0; begin < size_; begin += kChunk) {
      const T* const chunk = chunks_[begin / kChunk];
      for (const T* at = chunk; at != chunk + std::min(kChunk, size_ - begin); ++at) {
        if (visit(*at)) return;
      }
    }
  }

 private:
  static constexpr size_t kChunk = kChunkBytes / sizeof(T);  // elements
  static constexpr size_t kPerPage = kPageBytes / sizeof(T);

  void add_chunk() {
    chunks_.push_back(nullptr);
    void* const chunk = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (chunk == MAP_FAILED) {
      chunks_.pop_back();
      throw std::bad_alloc();
    }
    chunks_.back() = static_cast<T*>(chunk);
  }

  std::vector<T*> chunks_;
  size_t size_ = 0;
  size_t written_ = 0;  // the first element on a page not yet written
};

}  // namespace heaptape::base
