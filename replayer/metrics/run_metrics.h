// Everything a report says about one run. docs/metrics.md defines each number; the names are those
// of schema/report/report.capnp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "replayer/answers/account.h"
#include "replayer/answers/heap_growths.h"
#include "replayer/answers/moment.h"
#include "replayer/answers/pins.h"
#include "replayer/heap_map/hole_stats.h"
#include "replayer/metrics/cohorts.h"
#include "replayer/metrics/growth.h"
#include "replayer/metrics/live_metrics.h"

namespace heaptape::replayer {

// recorded = replayed + failed_calls + unknown_frees + refused
struct Accounting {
  uint64_t recorded = 0;
  uint64_t replayed = 0;
  uint64_t failed_calls = 0;
  uint64_t unknown_frees = 0;
  uint64_t refused = 0;
  uint64_t before = 0;  // calls that were made first, and are in none of these
};

struct ResizeCounts {
  uint64_t in_place = 0;
  uint64_t moved = 0;
  uint64_t moved_bytes = 0;
};

// The state of a run after `at` calls.
struct Snapshot {
  uint64_t at = 0;
  std::optional<uint64_t> time_ns = {};  // since the recording began; nothing if unknown
  LiveValues live;
  uint64_t usable_bytes = 0;
  uint64_t committed_bytes = 0;
  uint64_t resident_bytes = 0;
  HoleStats holes;
  uint64_t resident_hole_bytes = 0;

  // Usable, beyond the request.
  uint64_t slack_bytes() const {
    return usable_bytes > live.live_bytes ? usable_bytes - live.live_bytes : 0;
  }
};

// A moment that deserves a look, and the memory at that time.
struct MomentState {
  Moment moment;
  Snapshot snapshot;
  std::optional<Account> account;  // nothing if blocks were not followed
  // Blocks beside holes, with the bytes that they pin; nothing if they were not kept.
  std::optional<std::vector<Cohort>> pins = {};
  std::optional<PinnedBy> culprit = {};  // the size that pins most of the holes, if known
};

struct HeldMemory {
  uint64_t committed_bytes = 0;
  uint64_t resident_bytes = 0;
};

// The effect of --do after `at` calls.
struct ActionResult {
  std::string action;  // "trim", "purge"
  uint64_t at = 0;
  HeldMemory before = {};
  HeldMemory after = {};
  uint64_t elapsed_ns = 0;  // 0 if times are omitted
};

// The median, the least and the greatest of each figure over several replays. The slowest call of
// all is that of `greatest`.
struct LatencyRange {
  allocators::LatencySummary middle;
  allocators::LatencySummary least;
  allocators::LatencySummary greatest;
};

// How much is known about a run's resident memory: which pages, as for replays; a sum, and that the
// allocator does not give the pages of holes back; a sum; or nothing. In descending order. Pins are
// of all holes where nothing is known, but of none where the allocator may have given some back.
enum class KnownResident : uint8_t { kPages, kHoles, kSum, kNothing };

struct RunMetrics {
  std::string threads;       // Backend::threads()
  std::string incomparable;  // why fidelity says nothing; empty if it does
  // False if blocks come in an unknown order: their usable bytes, holes and resizes are unknown.
  bool follows_blocks = true;
  KnownResident known_resident = KnownResident::kPages;
  Accounting accounting;
  ResizeCounts resizes;
  Snapshot end;
  Peak live_count_peak;
  Peak live_bytes_peak;
  Peak usable_bytes_peak;
  Peak committed_bytes_peak;
  Peak resident_bytes_peak;
  uint64_t live_bytes_at_committed_peak = 0;
  HoleStats holes_at_committed_peak;
  double same_offset_share = 0;
  uint64_t compared_blocks = 0;
  uint64_t first_difference = 0;
  uint64_t misaligned_blocks = 0;  // less than requested
  uint64_t first_misaligned = 0;   // call from 1; 0 = none
  bool is_timed = true;            // false: times and latencies are omitted
  uint32_t repeats = 1;            // the number of replays whose medians the times are
  uint64_t replay_ns = 0;          // and the least and the greatest of them
  uint64_t replay_ns_min = 0;
  uint64_t replay_ns_max = 0;
  double stamp_ns = 0;  // Backend::stamp_ns()
  std::vector<allocators::Counter> counters;
  std::vector<LatencyRange> latencies;
  std::vector<GrowthFit> growth;
  std::vector<ActionResult> actions;
  std::vector<Snapshot> timeline;
  std::vector<HeapGrowth> heap_growths;  // the largest first
  std::vector<MomentState> moments;      // those of ReplayOptions, in order
};

}  // namespace heaptape::replayer
