// The contract between a replay and an allocator, real or modeled. docs/architecture.md, "Replay".
//
//   engine: submit(batch) ... collect(result), batch after batch; residency(), steer() and
//   give_back_memory() between batches. The block an op works on is named by a slot, a small number
//   that is reused after the block is freed; the backend keeps the slot's address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocators/commit_rule.h"
#include "allocators/growth_log.h"
#include "allocators/replay_op.h"
#include "allocators/steering_outcome.h"
#include "base/address/address_range.h"
#include "base/address/pages.h"
#include "base/result.h"
#include "schema/tape/event.h"

namespace heaptape::allocators {

using base::AddressRange;
using base::Result;
using base::Status;

// When the blocks of a batch die. A tick is 1 << tick_log2 calls: kNever is more than any tape has.
struct Deaths {
  static constexpr uint32_t kNever = (uint32_t{1} << 30) - 1;

  // For each op, the tick in which the block that it places is freed or resized: kNever if never, 0
  // if it places none. Empty if not known.
  std::span<const uint32_t> ticks = {};
  int tick_log2 = 0;

  // For the call that comes after `events` others.
  uint32_t tick_at(uint64_t events) const { return static_cast<uint32_t>(events >> tick_log2) + 1; }
};

// Consecutive events, one op each. Owns nothing; everything stays valid until collect().
struct ReplayBatch {
  uint64_t first_event = 0;  // calls before ops[0]
  uint32_t slot_limit = 0;   // every slot so far is below
  std::span<const ReplayOp> ops;
  std::span<const uint64_t> recorded_addresses = {};    // of the block each op placed; 0 = none
  std::span<const schema::ProcessSample> samples = {};  // taken during these events
  std::span<const schema::TimeSample> times = {};       // of the recorded run, ascending
  // The sample after these, if known; that depends on the tape, not on how its events are cut into
  // batches.
  std::optional<schema::TimeSample> next_time = {};
  // Ascending. An end with event first_event + i comes before ops[i]; one beyond all ops, last.
  std::span<const schema::ThreadEnd> thread_ends = {};
  Deaths deaths = {};  // for backends with foresight
};

// A change of the writable memory an allocator holds ("committed") during op number `op` of the
// batch. Ranges are multiples of the page size. Within an op, changes are in order: after the op's
// old block is taken away and before its new block is placed. An event in a batch without ops, or
// of an op beyond the batch's end, comes after the batch.
struct RegionEvent {
  enum class Kind : uint32_t { kCommit, kDecommit };

  uint32_t op = 0;
  Kind kind = Kind::kCommit;
  AddressRange range;
  CommitRule rule = {};  // of models only
  // With kCommit: the memory was there before the first call, so that its contents are not known.
  // All of the range is new to the committed memory.
  bool is_unseen = false;
};

struct BatchResult {
  std::vector<Placement> placements;  // one per op
  std::vector<RegionEvent> regions;   // by op, ascending
  uint64_t elapsed_ns = 0;            // spent in the allocator and the loop around it

  void clear() {
    placements.clear();
    regions.clear();
    elapsed_ns = 0;
  }
};

// How much of the committed memory occupies real pages.
struct Residency {
  uint64_t resident_bytes = 0;
  // The ranges that do not, ascending; nullopt when the backend cannot tell which they are.
  std::optional<std::vector<AddressRange>> absent;
};

// The result of asking the allocator to give free memory back.
struct GivenBack {
  std::vector<RegionEvent> regions;
  uint64_t elapsed_ns = 0;
};

struct Steered {
  SteeringOutcome outcome = SteeringOutcome::kIgnored;
  std::vector<RegionEvent> regions = {};
};

// Memory between live blocks that is not free, as far as the allocator can tell. Ascending, no
// overlaps.
struct KeptMemory {
  std::vector<AddressRange> cached;  // free blocks that it keeps ready for the next such request
  std::vector<AddressRange> own;     // its own data
};

// The allocator's own figures, as far as it reports them.
struct OwnStatistics {
  std::optional<uint64_t> allocated_bytes;  // in blocks handed out, and in those kept ready
  std::optional<uint64_t> cached_bytes;     // in blocks kept ready
  std::optional<uint64_t> metadata_bytes;
};

// A number that the allocator counted, under its name in docs/metrics.md.
struct Counter {
  std::string name;
  uint64_t value = 0;
};

// The time that single calls took, over the calls that were timed.
struct LatencySummary {
  ReplayKind kind = ReplayKind::kMalloc;
  std::string sizes;  // of the blocks: a band of docs/metrics.md, "Time"; empty: all sizes
  uint64_t samples = 0;
  uint64_t p50_ns = 0;
  uint64_t p99_ns = 0;
  uint64_t p999_ns = 0;
  uint64_t max_ns = 0;
  uint64_t max_event = 0;  // number of that call, from 1
};

// Memory further above the initial program break is a mapping, not the heap grown by brk.
inline constexpr uint64_t kHeapSpanBytes = uint64_t{1} << 40;

// Where a replayed heap must begin, modulo kBreakPeriodBytes; 0 if the break is not known.
constexpr uint64_t break_phase(uint64_t recorded_break) {
  return base::page_down(recorded_break % kBreakPeriodBytes);
}

inline constexpr uint64_t kGlibcHeapBytes = uint64_t{64} << 20;  // HEAP_MAX_SIZE of arena.c

enum class MallocFamily : uint8_t { kGlibc, kOther };

struct BackendTraits {
  // False (noop, model:ideal, threads at the same time): placements mean nothing. Committed memory
  // still counts, but has no holes.
  bool places_blocks = true;
  int granule_log2 = 4;          // every block starts on a multiple of 1 << granule_log2
  uint64_t min_hole_bytes = 32;  // a smaller gap cannot hold a block: it is the allocator's own
  uint64_t initial_break = 0;    // where the heap begins; 0 if the backend has none
  // Heaps of all arenas but the first lie on multiples of this; 0 if there are none.
  uint64_t arena_heap_bytes = 0;
  // The blocks come from unreviewed code: the engine checks each one and, if the order of the calls
  // is known (places_blocks), whether it overlaps another.
  bool is_foreign_code = false;

  // For a real allocator: glibc places blocks on multiples of 16 and needs 32 bytes for the
  // smallest; others have size classes of 8 bytes.
  static BackendTraits of_malloc(MallocFamily family, uint64_t initial_break) {
    const bool is_glibc = family == MallocFamily::kGlibc;
    return {.granule_log2 = is_glibc ? 4 : 3,
            .min_hole_bytes = is_glibc ? uint64_t{32} : uint64_t{8},
            .initial_break = initial_break,
            .arena_heap_bytes = is_glibc ? kGlibcHeapBytes : 0};
  }
};

// The engine relies on every backend for:
// - one placement for each op, in the order of the ops, or none at all with Answers::kNone; an op
//   that places nothing, or a request that was refused, has address 0. A refused realloc leaves the
//   block where it was;
// - region events that, applied in order, give the committed memory after each op. A range may
//   include pages that are already committed (or not); nothing changes for these;
// - placements, regions and counters that depend only on the ops and the spec, not on how the ops
//   are cut into batches (times do), except with "free" threads;
// - after an error, only output() and destruction, which ends whatever start() began. kTarget means
//   the allocator failed, at `event` of the error if it has one; any other error is not its fault.
// The backend can expect: start() first; if it has foresight, rehearse() with every batch; then
// submit() and collect() in turn; one thread at a time.
class Backend {
 public:
  virtual ~Backend() = default;

  // Valid after start().
  virtual const BackendTraits& traits() const = 0;

  // The file whose code serves malloc, valid after start(); empty means heaptape itself.
  virtual std::string library() const { return ""; }
  // The library's own version, "5.3.0"; empty if it gives none. Asked only at the end, because
  // asking may change the heap.
  virtual std::string version() { return ""; }

  // Commits what the allocator takes before its first call; op is 0 in each event.
  virtual Result<std::vector<RegionEvent>> start() = 0;
  // Whether it is told the future.
  virtual bool has_foresight() const { return false; }
  // Only the ops and deaths of `batch` are set. Batches may be cut differently later.
  virtual Status rehearse(const ReplayBatch&) { return {}; }
  // Starts work on `batch`. A native backend returns at once.
  virtual Status submit(const ReplayBatch& batch) = 0;
  // Waits for the batch submitted last. Fails if, say, the allocator's process died.
  virtual Status collect(BatchResult& result) = 0;

  // Between batches only. `regions` is the committed memory, ascending.
  virtual Result<Residency> residency(std::span<const AddressRange> regions) = 0;
  // Between batches only: asks the allocator to give free memory back to the system, as programs do
  // with malloc_trim. nullopt if it has no such call.
  virtual Result<std::optional<GivenBack>> give_back_memory() { return std::optional<GivenBack>(); }
  // Between batches only: a call of the recorded program, made by that thread, behind the batch
  // collected last. The counterpart of a call that gives memory back is give_back_memory(), if the
  // backend has that.
  virtual Result<Steered> steer(const schema::SteeringCall&) { return Steered(); }
  // Between batches only. `gaps`, ascending, are the stretches of committed memory without a live
  // block; the result lies within them.
  virtual Result<KeptMemory> kept_memory(std::span<const AddressRange> /*gaps*/) {
    return KeptMemory();
  }
  // Between batches only. May take memory: no batch may follow.
  virtual Result<OwnStatistics> own_statistics() { return OwnStatistics(); }
  // After the last batch and the last residency().
  virtual std::vector<Counter> counters() = 0;
  // The threads that made the calls: "merged" (one), "ordered" (each on its own, in tape order),
  // "ordered (lock step)", "free" (each on its own, at the same time).
  virtual std::string threads() const { return "merged"; }
  // Anything else worth knowing about the run, a sentence each: settings without effect, say.
  virtual std::vector<std::string> notes() const { return {}; }
  // The allocator's output to its standard streams, or only its last part. The last call to make;
  // allowed even after an error.
  virtual std::string output() { return ""; }
  // Empty if time means nothing.
  virtual std::vector<LatencySummary> latencies() const { return {}; }
  // Between batches only: latencies() become those of later calls.
  virtual void forget_latencies() {}
  // The cost of reading the clock before and after a call; latencies exclude it.
  virtual double stamp_ns() const { return 0; }
  // How the work of each kind of operation grew with scale; empty if no work is counted.
  virtual std::vector<GrowthCurve> growth() const { return {}; }
};

}  // namespace heaptape::allocators
