#include "allocators/models/ptmalloc/ptmalloc_model.h"

#include <malloc.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "allocators/glibc_chunks.h"
#include "base/address/region_set.h"

namespace heaptape::allocators {
namespace {

using namespace ptmalloc;

constexpr uint64_t kUnset = base::Parameter::kUnset;

enum class Version : uint64_t { k236, k224 };

Version version_of(const base::Values& options) {
  return options.get<Version>("version");
}

Tuning tuning_of(const base::Values& options) {
  Tuning tuning;
  const auto apply = [&](const char* name, uint64_t& value) {
    if (options[name] == kUnset) return;
    value = options[name];
    tuning.dynamic = false;
  };
  apply("mmap_threshold", tuning.mmap_threshold);
  apply("trim_threshold", tuning.trim_threshold);
  apply("top_pad", tuning.top_pad);
  apply("mmap_max", tuning.mmap_max);
  return tuning;
}

const HeapLayout& layout_of(const base::Values& options) {
  return version_of(options) == Version::k224 ? kHeapLayout224 : kHeapLayout236;
}

}  // namespace

PtmallocModel::PtmallocModel(AddressSpace& space, const base::Values& options)
    : process_(space, tuning_of(options), layout_of(options)),
      arenas_(process_, options["arena_max"], options["cores"]),
      has_caches_(version_of(options) != Version::k224),
      cache_count_(static_cast<uint32_t>(options["tcache_count"])),
      thread_(&arenas_.thread(0)) {}

std::vector<base::Parameter> PtmallocModel::parameters() {
  return {
      base::choice("version", Version::k236, "of glibc; 2.24 has no thread caches",
                   {"2.36", "2.24"}),
      {"tcache_count",
       7,
       "chunks of each size that a thread caches (glibc.malloc.tcache_count)",
       {},
       0,
       UINT16_MAX},
      {"mmap_threshold", kUnset,
       "M_MMAP_THRESHOLD: chunks of this size or more get a mapping; unset: 128 KiB at first"},
      {"trim_threshold", kUnset,
       "M_TRIM_THRESHOLD: a top of this size or more is trimmed; unset: 128 KiB at first"},
      {"top_pad", kUnset,
       "M_TOP_PAD: bytes requested beyond the need, and kept by a trim; unset: 128 KiB"},
      {"mmap_max", kUnset,
       "M_MMAP_MAX: most chunks with a mapping; unset: 65,536. Setting any of these four fixes "
       "both thresholds"},
      {"arena_max", 0, "M_ARENA_MAX: most arenas; 0: 8 a core"},
      {"cores", 2, "processors of the simulated machine"},
  };
}

// The cache itself is a block in the thread's arena, and stays there.
void PtmallocModel::make_cache() {
  const Chunk chunk =
      arena(ThreadCache::kStructBytes).allocate(units_for(ThreadCache::kStructBytes), nullptr);
  if (chunk == kNoChunk) return;
  placed(chunk);
  thread_->cache_chunk = chunk;
  thread_->cache_storage.emplace(process_.chunks, cache_count_);
  thread_->cache = &*thread_->cache_storage;
}

// The block's pages have contents again, and so has the beginning of a chunk after it.
Placement PtmallocModel::placed(Chunk chunk) {
  if (chunk == kNoChunk) return {};
  if (chunk == kMappedChunk) return placed_mapping(process_.mapped.latest());
  if (process_.unwritten.bytes() != 0) [[unlikely]] {
    const Chunk end = chunk + process_.chunks.units(chunk);
    process_.unwritten.remove({page_down(address_of(chunk)), page_up(address_of(end) + kMinBytes)});
  }
  return {block_of(chunk), usable_bytes(process_.chunks.units(chunk))};
}

// If the thread's arena has no room, the main one may.
Placement PtmallocModel::allocate_from_arena(uint64_t bytes, uint64_t units) {
  Chunk chunk = arena(bytes).allocate(units, thread_->cache);
  if (chunk == kNoChunk && thread_->arena != &arenas_.main()) {
    chunk = arenas_.main().allocate(units, thread_->cache);
  }
  return placed(chunk);
}

// The thread's cache is neither used nor made.
Placement PtmallocModel::allocate_aligned(uint64_t bytes, uint64_t alignment) {
  const uint64_t units = units_for(bytes);
  if (alignment > kMaxRequest - kMinBytes || to_bytes(units) > kMaxRequest - kMinBytes - alignment)
    return {};
  alignment = std::max(alignment, kMinBytes);
  Arena& mine = arena(bytes + alignment + kMinBytes);
  Chunk chunk = mine.allocate_aligned(units, alignment, thread_->cache);
  if (chunk == kNoChunk && &mine != &arenas_.main()) {
    chunk = arenas_.main().allocate_aligned(units, alignment, thread_->cache);
  }
  return placed(chunk);
}

// calloc does not take from the cache. It clears less for a chunk from top, because fresh memory is
// clear, and nothing for a mapping.
Placement PtmallocModel::allocate_zeroed(uint64_t bytes) {
  if (bytes > kMaxRequest) return {};
  cache();
  Arena& mine = arena(bytes);
  const uint64_t old_top = block_of(mine.top());
  const uint64_t old_end = std::max(mine.end(), mine.used_once_end());
  const Placement block = allocate_from_arena(bytes, units_for(bytes));
  if (block.address != 0 && chunk_of(block.address) != kMappedChunk) {
    const uint64_t chunk_bytes = block.usable_bytes + 8;
    const uint64_t used_bytes =
        block.address == old_top ? old_end - (old_top - kHeaderBytes) : UINT64_MAX;
    const uint64_t clear_bytes = std::min(chunk_bytes, used_bytes);
    process_.counts.bytes_zeroed += clear_bytes - std::min<uint64_t>(clear_bytes, 8);
  }
  return block;
}

Placement PtmallocModel::reallocate(uint64_t address, uint64_t bytes) {
  const Chunk chunk = chunk_of(address);
  if (chunk == kMappedChunk) {
    if (bytes > kMaxRequest) return {};
    return placed_mapping(process_.mapped.resize(address, to_bytes(units_for(bytes))));
  }
  ThreadCache* const mine = cache();
  if (bytes > kMaxRequest) return {};
  Arena& owner = arenas_.owner(chunk);
  const Chunk moved = owner.resize(chunk, units_for(bytes), mine);
  if (moved != kNoChunk) return placed(moved);
  const Placement elsewhere = allocate(bytes, 0);
  if (elsewhere.address == 0) return {};
  process_.counts.bytes_copied += usable_bytes(process_.chunks.units(chunk));
  owner.release(chunk, mine);
  return elsewhere;
}

void PtmallocModel::give_back_memory(uint64_t pad) {
  for (const auto& arena : arenas_.all()) arena->give_back_memory(pad);
}

SteeringOutcome PtmallocModel::steer(const schema::SteeringCall& call) {
  switch (call.op) {
    case schema::SteeringOp::kMallopt:
      set_option(call.first, call.second);
      return SteeringOutcome::kRepeated;
    case schema::SteeringOp::kMallocTrim:
      give_back_memory(static_cast<uint64_t>(call.first));
      return SteeringOutcome::kRepeated;
    default:
      return SteeringOutcome::kIgnored;
  }
}

// mallopt(3), which first joins what the fastbins of the main arena hold. Values that it refuses
// change nothing; those that only fill blocks or report errors have no part in a model.
void PtmallocModel::set_option(int64_t parameter, int64_t value) {
  constexpr int64_t kMaxFastBytes = 160;
  Tuning& tuning = process_.tuning;
  value = static_cast<int>(value);  // as mallopt takes it
  const auto number = static_cast<uint64_t>(value);
  arenas_.main().consolidate();
  switch (parameter) {
    case M_MXFAST:
      if (value < 0 || value > kMaxFastBytes) return;
      // A chunk of `value` bytes and half a header; none is as small as one unit.
      tuning.fast_max_units = number < 8 ? 1 : static_cast<uint32_t>((number + 8) / kUnitBytes);
      return;
    case M_ARENA_MAX:
      return arenas_.set_arena_max(number);
    case M_ARENA_TEST:
      return arenas_.set_arena_test(number);
    case M_MMAP_THRESHOLD:
      tuning.mmap_threshold = number;
      break;
    case M_TRIM_THRESHOLD:
      tuning.trim_threshold = number;
      break;
    case M_TOP_PAD:
      tuning.top_pad = number;
      break;
    case M_MMAP_MAX:
      tuning.mmap_max = value < 0 ? 0 : number;
      break;
    default:
      return;
  }
  tuning.dynamic = false;
}

std::vector<AddressRange> PtmallocModel::absent() const {
  std::vector<AddressRange> ranges;
  for (const auto& arena : arenas_.all()) ranges.push_back(arena->fresh_top());
  process_.heaps.append_absent(ranges);
  process_.mapped.append_absent(ranges);
  base::RegionSet absent;
  for (const AddressRange& range : ranges) absent.add(range);
  const auto add_unwritten = [&](AddressRange memory) {
    process_.unwritten.for_each_touching(memory, [&](AddressRange pages) {
      absent.add({std::max(pages.begin, memory.begin), std::min(pages.end, memory.end)});
    });
  };
  add_unwritten({kMainBase, arenas_.all().front()->end()});
  process_.heaps.for_each_range(add_unwritten);
  return absent.ranges();
}

namespace {

class ModelChunks {
 public:
  explicit ModelChunks(const ChunkMemory& chunks) : chunks_(chunks) {}

  std::optional<uint64_t> size_word(uint64_t address) const {
    const Chunk chunk = chunk_of(address + kHeaderBytes);
    if (chunk == kMappedChunk) return std::nullopt;
    const auto top = tops_.find(chunk);
    const uint64_t bytes = top != tops_.end() ? top->second : to_bytes(chunks_.units(chunk));
    return bytes | (chunks_.free_before(chunk) == 0 ? 1 : 0);
  }
  bool is_fast(uint64_t address, uint64_t /*bytes*/) const {
    return fast_.contains(chunk_of(address + kHeaderBytes));
  }
  std::optional<uint64_t> heap_end(uint64_t heap) const {
    const auto found = heap_ends_.find(heap);
    return found == heap_ends_.end() ? std::nullopt : std::optional(found->second);
  }
  void add_fast(Chunk chunk) { fast_.insert(chunk); }
  // The arena knows where it ends.
  void add_top(Chunk chunk, uint64_t end) {
    tops_[chunk] = end - address_of(chunk);
    heap_ends_[base::round_down(end - 1, kGlibcHeapBytes)] = end;
  }

 private:
  const ChunkMemory& chunks_;
  std::unordered_set<Chunk> fast_;
  std::unordered_map<Chunk, uint64_t> tops_;  // their bytes
  std::unordered_map<uint64_t, uint64_t> heap_ends_;
};

}  // namespace

KeptMemory PtmallocModel::kept_memory(std::span<const AddressRange> gaps) const {
  ModelChunks reader(process_.chunks);
  for (const auto& arena : arenas_.all()) {
    reader.add_top(arena->top(), arena->end());
    arena->for_each_fast([&reader](Chunk chunk) { reader.add_fast(chunk); });
  }
  return {.cached = kept_chunks(reader, gaps, kMainBase), .own = {}};
}

std::vector<Counter> PtmallocModel::counters() const {
  const Counts& counts = process_.counts;
  uint64_t arena_bytes = 0;
  uint64_t free_bytes = 0;
  for (const auto& arena : arenas_.all()) {
    arena_bytes += arena->system_bytes();
    free_bytes += arena->free_bytes();
  }
  return {{"tcacheHits", counts.tcache_hits},
          {"fastbinHits", counts.fastbin_hits},
          {"smallbinHits", counts.smallbin_hits},
          {"largebinHits", counts.largebin_hits},
          {"nextBinHits", counts.next_bin_hits},
          {"unsortedProcessed", counts.unsorted_processed},
          {"largebinSteps", counts.largebin_steps},
          {"consolidations", counts.consolidations},
          {"chunksConsolidated", counts.chunks_consolidated},
          {"brkUp", counts.brk_up},
          {"brkDown", counts.brk_down},
          {"mmapCalls", counts.mmap_calls},
          {"munmapCalls", counts.munmap_calls},
          {"mremapCalls", counts.mremap_calls},
          {"mmapThreshold", process_.tuning.mmap_threshold},
          {"trimThreshold", process_.tuning.trim_threshold},
          {"reallocInPlaceTop", counts.realloc_in_place_top},
          {"reallocInPlaceNext", counts.realloc_in_place_next},
          {"reallocInPlaceShrink", counts.realloc_in_place_shrink},
          {"bytesCopied", counts.bytes_copied},
          {"bytesZeroed", counts.bytes_zeroed},
          {"arenas", arenas_.all().size()},
          {"arenaBytes", arena_bytes},
          {"inUseBytes", arena_bytes - free_bytes},
          {"mappedBytes", process_.mapped.mapped_bytes()}};
}

}  // namespace heaptape::allocators
