// Chains of chunks as glibc lays them out, without a heap.
#include "allocators/glibc_chunks.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace heaptape::allocators {
namespace {

constexpr uint64_t kArena = 4 * kGlibcHeapBytes;
constexpr uint64_t kBreak = 0x555555559000;

// A chunk that is in use, or counts as such, says so in the size word of the next one.
class FakeHeap {
 public:
  enum class Kind { kFree, kCached, kFast };

  // Behind the one before. Its address.
  uint64_t add(uint64_t bytes, Kind kind) {
    const uint64_t chunk = next_;
    words_[chunk] = bytes | (is_behind_used_ ? 1 : 0);
    if (kind == Kind::kFast) fast_.insert(chunk);
    is_behind_used_ = kind != Kind::kFree;
    next_ += bytes;
    words_[next_] = 0x20 | (is_behind_used_ ? 1 : 0);  // of a live block, as long as none follows
    return chunk;
  }
  void begin_at(uint64_t chunk) { next_ = chunk; }
  // From `begin` to where the live block behind the last chunk has its bytes.
  AddressRange gap_from(uint64_t begin) const { return {begin, next_ + glibc::kHeaderBytes}; }

  std::optional<uint64_t> size_word(uint64_t chunk) const {
    const auto found = words_.find(chunk);
    return found == words_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_fast(uint64_t chunk, uint64_t /*bytes*/) const { return fast_.contains(chunk); }
  std::optional<uint64_t> heap_end(uint64_t /*heap*/) const { return heap_end_; }
  void end_at(uint64_t end) { heap_end_ = end; }

 private:
  std::map<uint64_t, uint64_t> words_;
  std::set<uint64_t> fast_;
  std::optional<uint64_t> heap_end_;
  uint64_t next_ = kBreak;
  bool is_behind_used_ = true;
};
using Kind = FakeHeap::Kind;

std::vector<AddressRange> kept_in(FakeHeap& heap, AddressRange gap) {
  return kept_chunks(heap, std::vector{gap}, kBreak);
}

TEST(GlibcChunks, ThatAreFreeAndCountAsInUseAreKept) {
  FakeHeap heap;
  heap.add(0x100, Kind::kFree);
  const uint64_t cached = heap.add(0x40, Kind::kCached);
  heap.add(0x200, Kind::kFree);
  EXPECT_EQ(kept_in(heap, heap.gap_from(kBreak)),
            (std::vector<AddressRange>{{cached + 16, cached + 0x50}}));
}

TEST(GlibcChunks, InFastbinsAreNotKept) {
  FakeHeap heap;
  heap.add(0x40, Kind::kFast);
  EXPECT_TRUE(kept_in(heap, heap.gap_from(kBreak)).empty());
}

TEST(GlibcChunks, BehindABlockBeginBehindItsLastWord) {
  FakeHeap heap;
  heap.begin_at(kBreak + 0x100);
  const uint64_t cached = heap.add(0x40, Kind::kCached);
  EXPECT_EQ(kept_in(heap, heap.gap_from(kBreak + 0x110)).size(), 1u) << cached;
}

// Whether it is the first heap of the arena, with its state, or a further one.
TEST(GlibcChunks, BeginBehindWhatAHeapOfAThreadsArenaBeginsWith) {
  for (const uint64_t first : {0x8d0, 0x30}) {
    FakeHeap heap;
    heap.begin_at(kArena + first);
    const uint64_t cached = heap.add(0x40, Kind::kCached);
    EXPECT_EQ(kept_in(heap, heap.gap_from(kArena)),
              (std::vector<AddressRange>{{cached + 16, cached + 0x50}}))
        << first;
  }
}

// A heap that shrank keeps its memory.
TEST(GlibcChunks, EndWithTheTopOfAHeapThatShrank) {
  FakeHeap heap;
  heap.begin_at(kArena + 0x8d0);
  const uint64_t cached = heap.add(0x40, Kind::kCached);
  heap.add(0x1000 - 0x910, Kind::kFree);  // the top
  const AddressRange gap{kArena, kArena + 0x3000};
  const std::vector<AddressRange> kept{{cached + 16, cached + 0x50}};
  for (const uint64_t end : {uint64_t{0}, kArena, kArena + 0x2000, kArena + 0x4000}) {
    heap.end_at(end);
    EXPECT_TRUE(kept_in(heap, gap).empty()) << end;
  }
  heap.end_at(kArena + 0x1000);
  EXPECT_EQ(kept_in(heap, gap), kept);
  EXPECT_EQ(kept_in(heap, {kArena, kArena + 0x1000}), kept);  // it has not shrunk
}

// It grows past where a thread's heap would have to begin.
TEST(GlibcChunks, EndWithTheTopOfTheMainHeap) {
  FakeHeap heap;
  const uint64_t cached = heap.add(0x40, Kind::kCached);
  heap.add(2 * kGlibcHeapBytes - 0x40, Kind::kFree);  // the top
  heap.end_at(kBreak + kGlibcHeapBytes);
  EXPECT_EQ(kept_in(heap, {kBreak, kBreak + 2 * kGlibcHeapBytes}),
            (std::vector<AddressRange>{{cached + 16, cached + 0x50}}));
  EXPECT_FALSE(shrunk_end(heap, {kBreak, kBreak + 2 * kGlibcHeapBytes}));
}

TEST(GlibcChunks, ThatDoNotReachTheEndOfTheGapAreNone) {
  FakeHeap heap;
  heap.add(0x40, Kind::kCached);
  AddressRange gap = heap.gap_from(kBreak);
  gap.end -= 0x10;
  EXPECT_TRUE(kept_in(heap, gap).empty());
}

}  // namespace
}  // namespace heaptape::allocators
