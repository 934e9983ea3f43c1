#include "recorder/interposer/frame_numbers.h"

#include <sys/mman.h>

#include <cstring>

#include "recorder/interposer/attach.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;
void keep_order() {
  asm volatile("" ::: "memory");
}

uint32_t hash_of(uint32_t caller, uintptr_t return_address) {
  return hash_of_frame(caller, return_address) >> 32;
}

}  // namespace

template <typename Item>
FrameNumbers::Block<Item>* FrameNumbers::Block<Item>::make(uint32_t log2) {
  if (process.quiet.load(std::memory_order_relaxed)) return nullptr;
  const size_t bytes = sizeof(Block) + (sizeof(Item) << log2);
  const long base = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base < 0) return nullptr;
  // With small pages, random accesses would also miss the TLB.
  if (bytes >= 2 * kHugePageBytes) {
    raw_syscall(SYS_madvise, base, static_cast<long>(bytes), MADV_HUGEPAGE);
  }
  auto* const block = reinterpret_cast<Block*>(base);
  block->log2 = log2;
  return block;
}

template <typename Item>
void FrameNumbers::Block<Item>::unmap() {
  raw_syscall(SYS_munmap, as_long(this), static_cast<long>(sizeof(Block) + sizeof(Item) * size()));
}

// Doubles the block; copy(before, after) moves its contents.
template <typename Item, typename Copy>
bool FrameNumbers::grow(Block<Item>*& block, uint32_t most_log2, Copy copy) {
  Block<Item>* const before = block;
  if (before != nullptr && before->log2 == most_log2) return false;
  auto* const after = Block<Item>::make(before == nullptr ? kFirstLog2 : before->log2 + 1);
  if (after == nullptr) return false;
  if (before != nullptr) copy(*before, *after);
  block = after;
  if (before != nullptr) before->unmap();
  return true;
}

namespace {

// The first place, at or after the hash's, for which `stop` is true. There must be one.
template <typename Places, typename Stop>
uint64_t& probe(Places& places, uint32_t hash, Stop stop) {
  for (size_t at = hash >> (32 - places.log2);; at = (at + 1) & (places.size() - 1)) {
    if (stop(places[at])) return places[at];
  }
}
constexpr auto kIsFree = [](uint64_t place) { return place == 0; };

// Places go by the high bits of hashes, so they are copied in order.
constexpr auto kCopyPlaces = [](auto& before, auto& after) {
  for (size_t i = 0; i < before.size(); ++i) {
    const uint64_t place = before[i];
    if (place != 0) probe(after, static_cast<uint32_t>(place >> 32), kIsFree) = place;
  }
};

}  // namespace

bool FrameNumbers::make_room() {
  if (frames_ == nullptr || count_ + 1 >= frames_->size()) {
    const auto copy = [](Block<Frame>& before, Block<Frame>& after) {
      std::memcpy(static_cast<void*>(&after[0]), &before[0], before.size() * sizeof(Frame));
    };
    if (!grow(frames_, kMostFramesLog2, copy)) return false;
  }
  // Room for a frame and the callees of a spilled one.
  if (places_ == nullptr || 2 * (places_used_ + 1 + NearCallees::kMost) > places_->size()) {
    return grow(places_, kMostFramesLog2 + 1, kCopyPlaces);
  }
  return true;
}

bool FrameNumbers::is(uint32_t number, uint32_t caller, uintptr_t return_address) const {
  const Frame& frame = (*frames_)[number];
  return frame.return_address == return_address && frame.caller == caller;
}

uint32_t FrameNumbers::find(uint32_t caller, uintptr_t return_address) {
  if (frames_ == nullptr) return 0;
  const Frame& from = (*frames_)[caller];
  const uint32_t number = from.callees.find(
      return_address, [&](uint32_t callee) { return is(callee, caller, return_address); });
  if (number != 0 || !from.is_spilled) return number;
  return find_spilled(caller, return_address);
}

uint32_t FrameNumbers::find_spilled(uint32_t caller, uintptr_t return_address) {
  const uint32_t hash = hash_of(caller, return_address);
  const auto number = static_cast<uint32_t>(probe(*places_, hash, [&](Place place) {
    return place == 0 ||
           (place >> 32 == hash && is(static_cast<uint32_t>(place), caller, return_address));
  }));
  if (number != 0) (*frames_)[caller].callees.add(return_address, number);
  return number;
}

uint32_t FrameNumbers::add(uint32_t caller, uintptr_t return_address) {
  const uint32_t number = count_ + 1;
  (*frames_)[number] = {return_address, caller, 0, {}};
  keep_order();
  add_callee(caller, number, return_address);
  keep_order();
  return count_ = number;
}

void FrameNumbers::add_callee(uint32_t caller, uint32_t number, uintptr_t return_address) {
  Frame& from = (*frames_)[caller];
  if (from.callees.is_full()) {
    if (!from.is_spilled) spill(caller);
    add_place(caller, number);
  }
  from.callees.add(return_address, number);
}

// Moves its callees so far into the table.
void FrameNumbers::spill(uint32_t caller) {
  Frame& from = (*frames_)[caller];
  from.callees.for_each([&](uint32_t number) { add_place(caller, number); });
  keep_order();
  from.is_spilled = 1;
}

void FrameNumbers::add_place(uint32_t caller, uint32_t number) {
  const uint32_t hash = hash_of(caller, (*frames_)[number].return_address);
  ++places_used_;
  probe(*places_, hash, kIsFree) = uint64_t{hash} << 32 | number;
}

void FrameNumbers::clear() {
  Block<Frame>* const frames = frames_;
  Block<Place>* const places = places_;
  *this = {};
  keep_order();
  if (frames != nullptr) frames->unmap();
  if (places != nullptr) places->unmap();
}

}  // namespace heaptape::recorder
