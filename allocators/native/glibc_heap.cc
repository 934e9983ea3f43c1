#include "allocators/native/glibc_heap.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "allocators/glibc_chunks.h"

namespace heaptape::allocators {
namespace {

// Words of another process, page by page: chunks are visited in ascending order. To read a page
// that is not there would make it resident; headers of chunks lie on pages that malloc wrote to.
// process_vm_readv(2).
class HeapReader {
 public:
  explicit HeapReader(int pid) : pid_(pid) {}

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
  }

  int pid_;
  uint64_t page_ = 0;
  bool is_read_ = false;
  std::array<char, base::kPageBytes> bytes_;
};

// A block in a thread's cache has the cache's key, a random number, in its second word; what lies
// in a fastbin does not.
class CachedChunks {
 public:
  explicit CachedChunks(int pid) : heap_(pid), blocks_(pid) {}

  std::optional<uint64_t> size_word(uint64_t chunk) { return heap_.word(chunk + 8); }
  bool is_fast(uint64_t chunk, uint64_t bytes) {
    const auto key = bytes <= glibc::kMostFastBytes ? blocks_.word(chunk + 24) : std::nullopt;
    return key && key_ != 0 && *key != key_;
  }
  void set_key(uint64_t key) { key_ = key; }

 private:
  HeapReader heap_;
  HeapReader blocks_;
  uint64_t key_ = 0;  // 0: not known
};

// The word that most of those have in common that are too large for a fastbin; 0: there are none.
uint64_t find_key(int pid, std::span<const AddressRange> kept) {
  HeapReader heap(pid);
  std::unordered_map<uint64_t, size_t> counts;
  size_t blocks = 0;
  for (const AddressRange& chunk : kept) {
    if (chunk.bytes() <= glibc::kMostFastBytes) continue;
    if (++blocks > 4096) break;
    if (const auto word = heap.word(chunk.begin + 8)) ++counts[*word];
  }
  const auto most = std::ranges::max_element(
      counts, {}, [](const auto& entry) { return entry.first == 0 ? 0 : entry.second; });
  return most == counts.end() || most->second < 2 ? 0 : most->first;
}

}  // namespace

std::vector<AddressRange> read_kept_chunks(int pid, std::span<const AddressRange> gaps,
                                           uint64_t initial_break) {
  CachedChunks reader(pid);
  std::vector<AddressRange> kept = kept_chunks(reader, gaps, initial_break);
  const uint64_t key = find_key(pid, kept);
  if (key == 0) return kept;
  reader.set_key(key);
  return kept_chunks(reader, gaps, initial_break);
}

}  // namespace heaptape::allocators
