// What cannot be taken from the figures of a run, because of how it was replayed or of what its
// tape lacks. docs/metrics.md, "What a run says of itself".
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "allocators/catalog/recorded_settings.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/metrics/run_metrics.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// The calls that steered the recorded allocator, by what became of them and by op.
class SteeringCounts {
 public:
  using Counts = std::map<schema::SteeringOp, uint64_t>;

  void note(const schema::SteeringCall& call, allocators::SteeringOutcome outcome) {
    ++by_outcome_[static_cast<size_t>(outcome)][call.op];
  }
  const Counts& of(allocators::SteeringOutcome outcome) const {
    return by_outcome_[static_cast<size_t>(outcome)];
  }

 private:
  std::array<Counts, 4> by_outcome_;
};

// What a replay learned of its tape on the way.
class TapeFacts {
 public:
  explicit TapeFacts(const schema::TapeHeader& header);

  void note(const schema::EventBatch& batch);
  // As TapeSummary and TapeReader have them.
  void note_beginning(uint64_t late_ns, std::string inherited_problem, uint64_t carried_blocks) {
    late_ns_ = late_ns;
    inherited_problem_ = std::move(inherited_problem);
    carried_blocks_ = carried_blocks;
  }
  // After the last event.
  void note(const SlotResolver& resolver);

  // With the family of allocator_family().
  const schema::RecordedAllocator& recorded() const { return recorded_; }
  const std::string& family() const { return recorded_.family; }
  const schema::TapeOrigin& origin() const { return origin_; }
  uint32_t threads() const { return threads_; }  // that made the calls replayed
  bool has_thread_ends() const { return has_thread_ends_; }
  bool has_times() const { return has_times_; }
  bool has_process_samples() const { return has_process_samples_; }
  // Those that steered the recorded allocator, by op.
  const SteeringCounts::Counts& steering() const { return steering_; }
  // Of live bytes, those in large blocks: at the peak of live bytes, and at the end.
  uint64_t large_bytes_at_peak() const { return large_bytes_at_peak_; }
  uint64_t large_bytes_at_end() const { return large_bytes_at_end_; }
  uint64_t late_ns() const { return late_ns_; }                                // TapeSummary
  const std::string& inherited_problem() const { return inherited_problem_; }  // TapeReader
  uint64_t carried_blocks() const { return carried_blocks_; }  // without the calls that led to them
  uint64_t unknown_frees() const { return unknown_frees_; }
  uint64_t unknown_resizes() const { return unknown_resizes_; }
  // Of 100 blocks that were freed, those that another thread had asked for.
  uint64_t foreign_percent() const { return foreign_percent_; }

 private:
  schema::RecordedAllocator recorded_;
  schema::TapeOrigin origin_;
  uint32_t threads_ = 1;
  bool has_thread_ends_ = false;
  bool has_times_ = false;
  bool has_process_samples_ = false;
  SteeringCounts::Counts steering_;
  uint64_t large_bytes_at_peak_ = 0;
  uint64_t large_bytes_at_end_ = 0;
  uint64_t foreign_percent_ = 0;
  uint64_t late_ns_ = 0;
  std::string inherited_problem_;
  uint64_t carried_blocks_ = 0;
  uint64_t unknown_frees_ = 0;
  uint64_t unknown_resizes_ = 0;
};

// How it was replayed, and what came of it.
struct RunFacts {
  std::string library_version = {};  // see Backend::version
  std::string threads;               // see Backend::threads
  allocators::Touch touch = allocators::Touch::kPage;
  allocators::Clock clock = allocators::Clock::kTape;
  allocators::Steer steer = allocators::Steer::kAsRecorded;
  SteeringCounts steering = {};
  allocators::RecordedSettings settings = {};
  uint64_t resident_bytes_peak = 0;
  uint64_t resident_bytes_at_end = 0;
  uint64_t compared_blocks = 0;  // of fidelity
  double same_offset_share = 0;
  // See purged_bytes(); 0 where actions did that, too.
  uint64_t purged_bytes = 0;
};

// What the allocator counted as purged; 0 if it says nothing of it.
uint64_t purged_bytes(const std::vector<allocators::Counter>& counters);

// Free pages are purged as they are freed, and time has no part in it.
bool purges_at_once(const allocators::BackendSpec& spec);

// Returns kPages for replays. For the recorded run, returns kNothing if the tape has no samples of
// its process (imported from a trace, written by a scenario, or cut before the first one), kHoles
// if it was recorded on glibc, and kSum otherwise.
KnownResident known_resident(const allocators::BackendSpec& spec, const TapeFacts& tape);

// A sentence each. Nothing for noop, and for a run that we recorded.
std::vector<std::string> run_notes(const allocators::BackendSpec& spec, const RunFacts& run,
                                   const TapeFacts& tape);

// Why no share of blocks at their recorded addresses is given; empty where one is.
std::string why_incomparable(const allocators::BackendSpec& spec, const RunFacts& run,
                             const TapeFacts& tape);

}  // namespace heaptape::replayer
