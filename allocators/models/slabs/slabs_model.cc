#include "allocators/models/slabs/slabs_model.h"

#include <algorithm>

#include "base/address/address_range.h"

namespace heaptape::allocators {

using slabs::Arena;
using slabs::class_bytes;
using slabs::class_of;
using slabs::Extent;
using slabs::kCachedClasses;
using slabs::kLargePadBytes;
using slabs::kLargestBytes;
using slabs::kLineBytes;
using slabs::kSmallClasses;

namespace {

// libjemalloc.so.2 loads the C++ run-time library, whose pool for exceptions is the first block of
// every process.
constexpr uint64_t kPoolBytes = 72704;
constexpr uint64_t kPoolHeadBytes = 16;  // only these are written

uint64_t decay_ms(const base::Values& options, const char* name) {
  constexpr uint64_t kMostMs = uint64_t{1} << 43;  // 278 years, in nanoseconds just below 2^63
  return options.is_on("decay") ? std::min(options[name], kMostMs) : slabs::SmoothDecay::kNever;
}

constexpr uint64_t kMostArenas = 4094;

uint64_t arena_count(const base::Values& options) {
  return options["arenas"] != 0 ? options["arenas"] : 4 * options["cores"];
}

}  // namespace

struct SlabsModel::Thread {
  Arena* arena = nullptr;
  slabs::DecayTicker ticker;
  uint64_t random = 0;
  std::unique_ptr<slabs::ThreadCache> cache;  // null: option tcache=off
  uint64_t cache_memory = 0;                  // block of its stacks
};

std::vector<base::Parameter> SlabsModel::parameters() {
  return {base::on_off("decay", base::Switch::kOn, "purge free pages as time passes"),
          {"dirty_decay_ms", 10000, "milliseconds until dirty pages are purged; 0: at once"},
          {"muzzy_decay_ms", 0,
           "milliseconds from a lazy purge to a full one; 0: dirty pages are purged in full"},
          base::on_off("tcache", base::Switch::kOn, "cache freed blocks in each thread"),
          {"arenas", 0, "how many arenas threads share; 0: four per core", {}, 0, kMostArenas},
          {"cores", 4, "processors of the simulated machine", {}, 1, kMostArenas / 4},
          {"oversize_threshold", uint64_t{8} << 20,
           "requests of this size or more share an arena that purges at once; 0: none"}};
}

SlabsModel::SlabsModel(AddressSpace& space, const base::Values& options)
    : oversize_bytes_(options["oversize_threshold"] >= slabs::kLargeMinBytes
                          ? options["oversize_threshold"]
                          : UINT64_MAX),
      cached_(options.is_on("tcache")),
      shared_(space),
      arenas_(shared_, arena_count(options),
              {.dirty_decay_ms = decay_ms(options, "dirty_decay_ms"),
               .muzzy_decay_ms = decay_ms(options, "muzzy_decay_ms"),
               .oversize_bytes = oversize_bytes_}) {
  switch_to(0);
  const uint32_t pool_class = class_of(kPoolBytes);
  noted(block_of_class(pool_class, kPoolBytes), pool_class, kPoolHeadBytes);
}

SlabsModel::~SlabsModel() = default;

// The memory of all caches is the first arena's.
void SlabsModel::switch_to(uint32_t index) {
  if (index >= threads_.size()) threads_.resize(index + 1);
  thread_index_ = index;
  if (threads_[index] == nullptr) {
    Thread& thread = *(threads_[index] = std::make_unique<Thread>());
    thread.arena = &arenas_.attach();
    thread.random = index;
    thread_ = &thread;
    if (!cached_) return;
    thread.cache_memory =
        large_block(arenas_.first(), class_of(slabs::ThreadCache::memory_bytes()), kPageBytes);
    if (thread.cache_memory != 0) {
      shared_.system.write(thread.cache_memory, slabs::ThreadCache::memory_bytes());
    }
    thread.cache = std::make_unique<slabs::ThreadCache>(shared_, *thread.arena, cache_counts_,
                                                        thread.ticker, now_ns_);
  }
  thread_ = threads_[index].get();
}

// Returns everything in the thread's cache to the arenas, then the cache's own memory to the first
// arena. The thread's arena purges everything if no thread is left to do it later. Follows
// tcache_destroy() (tcache.c).
void SlabsModel::end_thread(uint32_t index) {
  if (index >= threads_.size() || threads_[index] == nullptr) return;
  Thread& thread = *threads_[index];
  const uint32_t threads_left = arenas_.detach(*thread.arena);
  if (thread.cache != nullptr) {
    thread.cache->flush_all();
    if (thread.cache_memory != 0) {
      Extent& memory = *shared_.index.at(thread.cache_memory);
      memory.arena->pages.release(memory);
    }
    arenas_.first().pages.decay(now_ns_);
    if (threads_left == 0) {
      thread.arena->pages.purge_all();
    } else {
      thread.arena->pages.decay(now_ns_);
    }
  }
  threads_[index] = nullptr;
  if (index != thread_index_) return;
  thread_ = nullptr;
  thread_index_ = UINT32_MAX;
}

Arena& SlabsModel::arena_for(uint64_t bytes) {
  return bytes >= oversize_bytes_ ? arenas_.huge() : *thread_->arena;
}

Placement SlabsModel::allocate(uint64_t bytes, uint64_t alignment) {
  if (alignment != 0) return allocate_aligned(bytes, alignment);
  if (bytes > kLargestBytes) return {};
  return allocate_class(class_of(bytes), bytes);
}

Placement SlabsModel::allocate_class(uint32_t size_class, uint64_t bytes) {
  return noted(block_of_class(size_class, bytes), size_class, bytes);
}

// `bytes` is the size requested: it decides whether the block is for the huge arena.
uint64_t SlabsModel::block_of_class(uint32_t size_class, uint64_t bytes) {
  if (size_class < kSmallClasses) [[likely]]
    return small_block(size_class);
  if (size_class < kCachedClasses && cached_) {
    if (const uint64_t address = thread_->cache->take_large(size_class); address != 0)
      return address;
  }
  return large_block(arena_for(bytes), size_class, kLineBytes);
}

// The program writes the `bytes` that it requested.
Placement SlabsModel::noted(uint64_t address, uint32_t size_class, uint64_t bytes) {
  if (address == 0) return {};
  shared_.system.write(address, bytes);
  const uint64_t usable = class_bytes(size_class);
  if (cached_) thread_->cache->note_allocated(usable);
  return {address, usable};
}

// Up to a page, rounding the size up to the alignment is enough for small blocks: every region lies
// at a multiple of the largest power of two in its size. Large blocks requested with an alignment
// do not come from the cache.
Placement SlabsModel::allocate_aligned(uint64_t bytes, uint64_t alignment) {
  bytes = std::max<uint64_t>(bytes, 1);
  if (bytes <= slabs::kSmallMaxBytes && alignment <= kPageBytes) {
    const uint32_t size_class = class_of(round_up(bytes, alignment));
    if (size_class < kSmallClasses) return allocate_class(size_class, bytes);
  }
  if (bytes > kLargestBytes || alignment > kLargestBytes) return {};
  const uint32_t size_class = class_of(std::max(bytes, slabs::kLargeMinBytes));
  const uint64_t usable = class_bytes(size_class);
  return noted(large_block(arena_for(usable), size_class, std::max(alignment, kLineBytes)),
               size_class, bytes);
}

uint64_t SlabsModel::small_block(uint32_t size_class) {
  if (cached_) return thread_->cache->take_small(size_class);
  uint64_t address = 0;
  thread_->arena->slabs.take(size_class, 1, &address);
  thread_->ticker.tick(*thread_->arena, now_ns_);
  return address;
}

// The start of a block in its first page is random, so that not all blocks fall on the same lines
// of the processor's cache.
uint64_t SlabsModel::large_block(Arena& arena, uint32_t size_class, uint64_t alignment) {
  Extent* const extent = arena.pages.allocate(class_bytes(size_class) + kLargePadBytes,
                                              std::max(alignment, kPageBytes), 0);
  if (extent == nullptr) return 0;
  extent->size_class = size_class;
  thread_->ticker.tick(arena, now_ns_);
  if (alignment >= kPageBytes) return extent->base;
  thread_->random = thread_->random * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX
  return extent->base + (thread_->random >> 32) % (kPageBytes / alignment) * alignment;
}

void SlabsModel::release(uint64_t address) {
  Extent& extent = *shared_.index.at(address);
  const uint32_t size_class = extent.size_class;
  free_block(extent, address);
  note_freed(size_class);
}

void SlabsModel::note_freed(uint32_t size_class) {
  if (cached_) thread_->cache->note_freed(class_bytes(size_class));
}

void SlabsModel::free_block(Extent& extent, uint64_t address) {
  if (extent.size_class < kCachedClasses && cached_) [[likely]] {
    thread_->cache->put(extent.size_class, address);
    return;
  }
  Arena& owner = *extent.arena;
  if (!extent.is_slab) {
    owner.pages.release(extent);
  } else if (owner.slabs.put_back(extent, address)) {
    owner.slabs.release_slab(extent);
  }
  thread_->ticker.tick(owner, now_ns_);
}

// A block that moves is placed before its old place is freed.
Placement SlabsModel::reallocate(uint64_t address, uint64_t bytes) {
  if (bytes > kLargestBytes) return {};
  Extent& extent = *shared_.index.at(address);
  const uint32_t old_class = extent.size_class;
  const uint32_t size_class = class_of(bytes);
  if (try_resize_in_place(extent, size_class)) {
    thread_->ticker.tick(*extent.arena, now_ns_);
  } else {
    const uint64_t moved = block_to_move_to(old_class, size_class);
    if (moved == 0) return {};
    bytes_copied_ += std::min(class_bytes(size_class), class_bytes(old_class));
    free_block(extent, address);
    address = moved;
  }
  const Placement placed = noted(address, size_class, bytes);
  note_freed(old_class);
  return placed;
}

// A large block that stays large does not come from the cache.
uint64_t SlabsModel::block_to_move_to(uint32_t old_class, uint32_t size_class) {
  const uint64_t usable = class_bytes(size_class);
  if (old_class < kSmallClasses || size_class < kSmallClasses)
    return block_of_class(size_class, usable);
  return large_block(arena_for(usable), size_class, kLineBytes);
}

bool SlabsModel::try_resize_in_place(Extent& extent, uint32_t size_class) {
  if (size_class == extent.size_class) return true;
  if (extent.is_slab || size_class < kSmallClasses) return false;
  const uint64_t extent_bytes = class_bytes(size_class) + kLargePadBytes;
  if (extent_bytes < extent.bytes) {
    extent.arena->pages.shrink_to(extent, extent_bytes);
  } else if (!extent.arena->pages.try_expand(extent, extent_bytes - extent.bytes)) {
    return false;
  }
  extent.size_class = size_class;
  ++large_in_place_;
  return true;
}

void SlabsModel::flush_cache() {
  if (thread_ != nullptr && thread_->cache != nullptr) thread_->cache->flush_all();
}

void SlabsModel::give_back_memory() {
  flush_cache();
  for (const auto& arena : arenas_.all()) arena->pages.purge_all();
}

// Calls work(pages) for the arena of that number, or for all.
template <typename Work>
SteeringOutcome SlabsModel::for_arenas(int64_t index, Work work) {
  constexpr int64_t kAll = 4096;  // MALLCTL_ARENAS_ALL
  if (index == kAll) {
    for (const auto& arena : arenas_.all()) work(arena->pages);
    return SteeringOutcome::kRepeated;
  }
  Arena* const arena = arenas_.find(static_cast<uint64_t>(index));
  if (arena == nullptr) return SteeringOutcome::kRefused;
  work(arena->pages);
  return SteeringOutcome::kRepeated;
}

SteeringOutcome SlabsModel::steer(const schema::SteeringCall& call) {
  using schema::SteeringOp;
  using slabs::PageAllocator;
  // -1 is never, for jemalloc and here.
  static_assert(slabs::SmoothDecay::kNever == static_cast<uint64_t>(-1));
  const auto milliseconds = static_cast<uint64_t>(call.second);
  switch (call.op) {
    case SteeringOp::kArenaPurge:
      return for_arenas(call.first, [](PageAllocator& pages) { pages.purge_all(); });
    case SteeringOp::kArenaDecay:
      return for_arenas(call.first, [this](PageAllocator& pages) { pages.decay(now_ns_); });
    case SteeringOp::kArenaDirtyDecay:
      return for_arenas(
          call.first, [&](PageAllocator& pages) { pages.set_dirty_decay(milliseconds, now_ns_); });
    case SteeringOp::kArenaMuzzyDecay:
      return for_arenas(
          call.first, [&](PageAllocator& pages) { pages.set_muzzy_decay(milliseconds, now_ns_); });
    case SteeringOp::kDefaultDirtyDecay:
      arenas_.options().dirty_decay_ms = static_cast<uint64_t>(call.first);
      break;
    case SteeringOp::kDefaultMuzzyDecay:
      arenas_.options().muzzy_decay_ms = static_cast<uint64_t>(call.first);
      break;
    case SteeringOp::kFlushThreadCache:
      flush_cache();
      break;
    default:
      return SteeringOutcome::kIgnored;
  }
  return SteeringOutcome::kRepeated;
}

std::vector<AddressRange> SlabsModel::absent() const {
  std::vector<AddressRange> ranges;
  arenas_.append_absent(ranges);
  sort_and_join(ranges);
  return ranges;
}

KeptMemory SlabsModel::kept_memory(std::span<const AddressRange> /*gaps*/) const {
  KeptMemory kept;
  for (const auto& thread : threads_) {
    if (thread == nullptr || !thread->cache) continue;
    thread->cache->append_cached(kept.cached);
    if (thread->cache_memory == 0) continue;
    kept.own.push_back(
        {thread->cache_memory, thread->cache_memory + slabs::ThreadCache::memory_bytes()});
  }
  std::ranges::sort(kept.cached, {}, &AddressRange::begin);
  const std::vector<AddressRange>& metadata = shared_.system.metadata();
  kept.own.insert(kept.own.end(), metadata.begin(), metadata.end());
  std::ranges::sort(kept.own, {}, &AddressRange::begin);
  return kept;
}

uint64_t SlabsModel::work() const {
  return shared_.page_counts.examined + shared_.page_counts.purged_pages;
}

std::vector<Counter> SlabsModel::counters() const {
  const slabs::FreePages pages = arenas_.free_pages();
  return {{"slabsCreated", shared_.slab_counts.created},
          {"slabsFreed", shared_.slab_counts.freed},
          {"tcacheHits", cache_counts_.hits},
          {"tcacheFills", cache_counts_.fills},
          {"tcacheFlushes", cache_counts_.flushes},
          {"extentsSplit", shared_.page_counts.split},
          {"extentsCoalesced", shared_.page_counts.coalesced},
          {"dirtyPages", pages.dirty},
          {"muzzyPages", pages.muzzy},
          {"retainedBytes", pages.retained * kPageBytes},
          {"pagesPurged", shared_.page_counts.purged_pages},
          {"mappedBytes", shared_.system.mapped_bytes()},
          {"metadataBytes", arenas_.metadata_bytes()},
          {"arenasCreated", arenas_.made()},
          {"largeInPlace", large_in_place_},
          {"bytesCopied", bytes_copied_}};
}

}  // namespace heaptape::allocators
