#include "allocators/models/ptmalloc/arena.h"

namespace heaptape::allocators::ptmalloc {
namespace {

constexpr uint64_t kFenceBytes = kMinBytes;  // two headers

constexpr uint32_t units_of(uint64_t bytes) {
  return static_cast<uint32_t>(bytes >> kUnitLog2);
}

// CommitRule::words. The amount that top lacks includes the 32 bytes that must stay in it.
constexpr char kReachesThreshold[] =
    "a chunk of % bytes reaches mmap_threshold (% bytes now): it gets a mapping";
constexpr char kNoHeapHolds[] =
    "neither the arena's heap nor a new one (% bytes at most) holds a chunk of % bytes: it gets a "
    "mapping";
constexpr char kFirstBreak[] =
    "the heap begins: it needs % bytes, and top_pad (% bytes) comes on top, in whole pages";
constexpr char kTopLacks[] =
    "no free chunk fits and top lacks % bytes: the break moves by that and top_pad (% bytes), in "
    "whole pages";
constexpr char kMappingsUsedUp[] =
    "as many chunks as mmap_max allows (%) have mappings and top lacks % bytes: the break moves by "
    "that and top_pad, in whole pages";
constexpr char kNewArena[] =
    "another thread comes and no arena is idle: arena % begins a heap with room for the request "
    "and top_pad (% bytes)";
constexpr char kHeapGrows[] =
    "no free chunk of the arena fits and its top lacks % bytes: its heap grows by that, in whole "
    "pages";
constexpr char kHeapIsFull[] =
    "the arena's heap cannot grow beyond % bytes: another begins with room for the request and "
    "top_pad (% bytes)";

}  // namespace

Chunk Arena::allocate_from_system(uint64_t units, ThreadCache* cache) {
  const Tuning& tuning = process_.tuning;
  MappedChunks& mapped = process_.mapped;
  bool tried = false;
  if (to_bytes(units) >= tuning.mmap_threshold && mapped.count() < tuning.mmap_max) {
    const uint64_t bytes = to_bytes(units);
    const CommitRule rule{kReachesThreshold, {bytes, tuning.mmap_threshold}};
    if (mapped.allocate(bytes, rule) != 0) return kMappedChunk;
    tried = true;
  }
  if (is_main()) {
    if (!grow_break(units)) return kNoChunk;
  } else if (!grow_heaps(units, cache)) {
    const CommitRule rule{kNoHeapHolds, {kHeapMaxBytes, to_bytes(units)}};
    return !tried && mapped.allocate(to_bytes(units), rule) != 0 ? kMappedChunk : kNoChunk;
  }
  return split_top(units);
}

// glibc would continue with mappings if the break cannot be moved; here the heap ends.
bool Arena::grow_break(uint64_t units) {
  const uint64_t pad = process_.tuning.top_pad;
  if (units > units_of(kMainMaxBytes) || pad > kMainMaxBytes) return false;
  const uint64_t lacks = to_bytes(units) + kMinBytes - top_bytes();
  const uint64_t bytes = page_up(lacks + pad);
  if (!process_.brk.grow(bytes, rule_of_break(units, lacks))) return false;
  system_bytes_ += bytes;
  top_units_ += units_of(bytes);
  return true;
}

CommitRule Arena::rule_of_break(uint64_t units, uint64_t lacks) const {
  const Tuning& tuning = process_.tuning;
  if (to_bytes(units) >= tuning.mmap_threshold && process_.mapped.count() >= tuning.mmap_max) {
    return {kMappingsUsedUp, {tuning.mmap_max, lacks}};
  }
  return {system_bytes_ == 0 ? kFirstBreak : kTopLacks, {lacks, tuning.top_pad}};
}

bool Arena::begin_heaps(uint64_t bytes) {
  SubHeaps& heaps = process_.heaps;
  const uint64_t header = process_.layout.heap_info_bytes + process_.layout.arena_bytes;
  const uint64_t pad = process_.tuning.top_pad;
  // The size of malloc_state is not a multiple of 16; the rest is requested on top.
  const CommitRule rule{kNewArena, {index_, pad}};
  uint32_t heap = SubHeaps::kNoHeap;
  if (bytes <= kHeapMaxBytes) {
    heap = heaps.create(*this, SubHeaps::kNoHeap, bytes + header + kUnitBytes, pad, rule);
  }
  if (heap == SubHeaps::kNoHeap) {
    heap = heaps.create(*this, SubHeaps::kNoHeap, header + kUnitBytes, pad, rule);
  }
  if (heap == SubHeaps::kNoHeap) return false;
  system_bytes_ = heaps[heap].bytes;
  const uint64_t aligned = round_up(header, kUnitBytes);
  highest_top_ = kNoChunk;
  set_top(first_of_heap(heap) + units_of(aligned), units_of(heaps[heap].bytes - aligned));
  return true;
}

bool Arena::grow_heaps(uint64_t units, ThreadCache* cache) {
  SubHeaps& heaps = process_.heaps;
  const uint32_t old_heap = heap_of(top_);
  if (units > units_of(kHeapMaxBytes)) return false;
  const uint64_t old_bytes = heaps[old_heap].bytes;
  const uint64_t lacks = kMinBytes + to_bytes(units) - top_bytes();
  if (heaps.grow(old_heap, lacks, {kHeapGrows, {lacks}})) {
    const uint64_t grown = heaps[old_heap].bytes - old_bytes;
    system_bytes_ += grown;
    top_units_ += units_of(grown);
    return true;
  }
  const uint64_t header = process_.layout.heap_info_bytes;
  const uint64_t pad = process_.tuning.top_pad;
  const uint32_t heap = heaps.create(*this, old_heap, to_bytes(units) + kMinBytes + header, pad,
                                     {kHeapIsFull, {kHeapMaxBytes, pad}});
  if (heap == SubHeaps::kNoHeap) return false;
  system_bytes_ += heaps[heap].bytes;
  const Chunk old_top = top_;
  const uint32_t old_units = top_units_;
  highest_top_ = kNoChunk;
  set_top(first_of_heap(heap) + units_of(header), units_of(heaps[heap].bytes - header));
  end_heap(old_heap, old_top, old_units, cache);
  return true;
}

// The old top becomes a free chunk whose last 32 bytes become the fence; if too little is left for
// a chunk, the fence takes all of it.
void Arena::end_heap(uint32_t heap, Chunk old_top, uint32_t old_units, ThreadCache* cache) {
  const uint32_t units = old_units - units_of(kFenceBytes);
  const bool free_rest = units >= kMinUnits;
  const Chunk fence = free_rest ? old_top + units : old_top;
  const Chunk end = old_top + old_units - 1;
  chunks_.set_units(fence, end - fence);
  chunks_.set_free_before(fence, 0);
  chunks_.set_free_before(end, 0);
  process_.heaps[heap].fence = fence;
  if (!free_rest) return;
  chunks_.set_units(old_top, units);
  release(old_top, cache);
}

uint64_t Arena::trimmable_bytes(uint64_t pad) const {
  const uint64_t spare = top_bytes() - kMinBytes - 1;
  return top_units_ <= kMinUnits || spare <= pad ? 0 : page_down(spare - pad);
}

void Arena::trim_break(uint64_t pad) {
  const uint64_t bytes = trimmable_bytes(pad);
  if (bytes == 0) return;
  process_.brk.shrink(bytes);
  system_bytes_ -= bytes;
  top_units_ -= units_of(bytes);
  highest_top_ = std::min(highest_top_, top_ + top_units_);
}

void Arena::trim_heaps() {
  while (leave_heap()) {
  }
  if (top_bytes() < process_.tuning.trim_threshold) return;
  const uint64_t bytes = trimmable_bytes(process_.tuning.top_pad);
  if (bytes == 0) return;
  process_.heaps.shrink(heap_of(top_), bytes);
  system_bytes_ -= bytes;
  top_units_ -= units_of(bytes);
  highest_top_ = std::min(highest_top_, top_ + top_units_);
}

// Gives an empty heap back if the one before it has enough room at its end to continue there.
bool Arena::leave_heap() {
  SubHeaps& heaps = process_.heaps;
  const uint32_t heap = heap_of(top_);
  const uint32_t previous = heaps[heap].previous;
  if (previous == SubHeaps::kNoHeap) return false;
  if (top_ != first_of_heap(heap) + units_of(process_.layout.heap_info_bytes)) return false;
  SubHeap& before = heaps[previous];
  Chunk new_top = before.fence;
  const uint32_t free_units = chunks_.free_before(new_top);
  const Chunk end = first_of_heap(previous) + units_of(before.bytes);
  const uint64_t new_bytes = to_bytes(end - new_top + free_units);
  if (new_bytes + kHeapMaxBytes - before.bytes < process_.tuning.top_pad + kMinBytes + kPageBytes) {
    return false;
  }
  system_bytes_ -= heaps[heap].bytes;
  heaps.destroy(heap);
  if (free_units != 0) {
    new_top -= free_units;
    bins_.unlink(new_top);
  }
  before.fence = kNoChunk;
  highest_top_ = end;  // what was written there is no longer known
  set_top(new_top, end - new_top);
  return true;
}

// A free chunk's first fields, its links, stay. The main top is cut as far as possible, those of
// heaps are not.
void Arena::give_back_memory(uint64_t pad) {
  consolidate();
  bins_.for_each_large(units_of(kPageBytes), [this](Chunk chunk) {
    note_unwritten(chunk, chunk + chunks_.units(chunk));
  });
  if (is_main()) trim_break(pad);
}

void Arena::note_unwritten(Chunk begin, Chunk end) {
  constexpr uint64_t kChunkFieldsBytes = 48;  // sizeof(struct malloc_chunk)
  const AddressRange pages{page_up(address_of(begin) + kChunkFieldsBytes),
                           page_down(address_of(end))};
  if (pages.begin < pages.end) process_.unwritten.add(pages);
}

uint64_t Arena::used_once_end() const {
  if (is_main()) return kMainBase + process_.brk.most_bytes();
  const uint32_t heap = heap_of(top_);
  return SubHeaps::address_of_heap(heap) + process_.heaps[heap].writable_bytes;
}

AddressRange Arena::fresh_top() const {
  const uint64_t begin = page_up(address_of(highest_top_) + kHeaderBytes);
  return {std::min(begin, end()), end()};
}

}  // namespace heaptape::allocators::ptmalloc
