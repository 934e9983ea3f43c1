#include "allocators/native/glibc_heap.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "allocators/glibc_chunks.h"

namespace heaptape::allocators {
namespace {

// Words of another process, page by page: chunks are visited in ascending order. Reading an absent
// page would make it resident, but chunk headers lie on pages that malloc wrote to.
// process_vm_readv(2).
class HeapReader {
 public:
  explicit HeapReader(int pid) : pid_(pid) {}

  // Whether any page could be read.
  bool has_read() const { return has_read_; }
  // `address` is a multiple of 8.
  std::optional<uint64_t> word(uint64_t address) {
    if (base::page_down(address) != page_ || page_ == 0) read_page(base::page_down(address));
    if (!is_read_) return std::nullopt;
    uint64_t word;
    std::memcpy(&word, bytes_.data() + address % base::kPageBytes, sizeof word);
    return word;
  }

 private:
  void read_page(uint64_t page) {
    page_ = page;
    const iovec local{bytes_.data(), bytes_.size()};
    const iovec remote{reinterpret_cast<void*>(page), bytes_.size()};
    is_read_ =
        process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes_.size());
    has_read_ = has_read_ || is_read_;
  }

  int pid_;
  uint64_t page_ = 0;
  bool is_read_ = false;
  bool has_read_ = false;
  std::array<char, base::kPageBytes> bytes_;
};

// All chunks that count as in use, whatever holds them.
class AllChunks {
 public:
  explicit AllChunks(int pid) : heap_(pid) {}

  std::optional<uint64_t> size_word(uint64_t chunk) { return heap_.word(chunk + 8); }
  bool is_fast(uint64_t /*chunk*/, uint64_t /*bytes*/) { return false; }
  // struct heap_info: the arena, which is behind the heap_info of its first heap; the heap before;
  // the size; how much of the heap was writable so far (glibc 2.36, malloc/arena.c).
  std::optional<uint64_t> heap_end(uint64_t heap) {
    constexpr uint64_t kHeapInfoBytes = 0x30;
    const auto arena = heap_.word(heap);
    const auto bytes = heap_.word(heap + 16);
    const auto most_bytes = heap_.word(heap + 24);
    if (!arena || !bytes || !most_bytes) return std::nullopt;
    const bool is_heap = *arena % kGlibcHeapBytes == kHeapInfoBytes && *bytes != 0 &&
                         *bytes % base::kPageBytes == 0 && *bytes <= *most_bytes &&
                         *most_bytes <= kGlibcHeapBytes;
    return is_heap ? std::optional(heap + *bytes) : std::nullopt;
  }
  bool can_read() const { return heap_.has_read(); }

 private:
  HeapReader heap_;
};

// The threads' caches: each is a block of the heap, with a count and the first block of a list for
// each of 64 sizes of 32 bytes or more (glibc 2.30 and later, struct tcache_perthread_struct). The
// link in a block is mangled with its own address (safe-linking).
class ThreadCaches {
 public:
  static constexpr uint64_t kChunkBytes = 0x290;

  // `kept`: all chunks that count as in use, from walk_chunks().
  ThreadCaches(int pid, std::span<const AddressRange> kept) : memory_(pid) {
    for (const AddressRange& chunk : kept) bytes_[chunk.begin] = chunk.bytes();
    for (const AddressRange& chunk : kept) {
      if (chunk.bytes() == kChunkBytes) add_cache(chunk.begin);
    }
  }

  bool holds(uint64_t block) const { return blocks_.contains(block); }

 private:
  static constexpr uint64_t kSizes = 64;

  // Adds its blocks if it is a cache; a free block of that size does not look like one.
  void add_cache(uint64_t cache) {
    std::vector<uint64_t> blocks;
    for (uint64_t size = 0; size < kSizes; ++size) {
      const auto counts = memory_.word(cache + size / 4 * 8);
      auto block = memory_.word(cache + 2 * kSizes + 8 * size);
      if (!counts || !block) return;
      uint64_t count = *counts >> (size % 4 * 16) & UINT16_MAX;
      for (; count != 0; --count) {
        const auto found = bytes_.find(*block);
        if (found == bytes_.end() || found->second != 32 + 16 * size) return;
        blocks.push_back(*block);
        const auto link = memory_.word(*block);
        if (!link) return;
        block = *link ^ (*block >> 12);
      }
      if (*block != 0) return;
    }
    blocks_.insert(blocks.begin(), blocks.end());
  }

  HeapReader memory_;
  std::unordered_map<uint64_t, uint64_t> bytes_;  // of chunks, by block
  std::unordered_set<uint64_t> blocks_;
};

}  // namespace

std::optional<std::vector<AddressRange>> read_kept_chunks(int pid,
                                                          std::span<const AddressRange> gaps,
                                                          uint64_t initial_break) {
  AllChunks reader(pid);
  std::vector<AddressRange> kept = kept_chunks(reader, gaps, initial_break);
  if (!gaps.empty() && !reader.can_read()) return std::nullopt;
  const ThreadCaches caches(pid, kept);
  // A chunk this small that is in no cache is in a fastbin.
  std::erase_if(kept, [&caches](const AddressRange& chunk) {
    return chunk.bytes() <= glibc::kMostFastBytes && !caches.holds(chunk.begin);
  });
  return kept;
}

}  // namespace heaptape::allocators
