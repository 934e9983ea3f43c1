// Watches one backend's answers and keeps all metrics of the run, event by event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/heap_map/heap_map.h"
#include "replayer/metrics/fidelity.h"
#include "replayer/metrics/run_metrics.h"

namespace heaptape::replayer {

// Guarantees:
// - Peaks are exact, and placed at the first event that reached them; that of committed bytes has
//   what the allocator held only in passing. The peak of resident bytes alone is one of samples.
// - Holes and live bytes at the peak of committed bytes are those after that same event.
// - Every op that is not kNothing is either replayed or refused.
// - Memory grows with live blocks and samples, never with events.
//
// One thread. Batches in the order of the tape.
class RunAnalysis {
 public:
  // `recorded_break` is where the heap of the recorded run began; 0 = not known.
  RunAnalysis(const allocators::BackendTraits& traits, uint64_t recorded_break);

  // What the allocator took before its first call. At most once, before add().
  void start(const std::vector<allocators::RegionEvent>& regions);
  // Fails with kTarget at the first block of foreign code that is not what it must be; nothing may
  // follow then.
  base::Status add(const ResolvedBatch& batch, const allocators::BatchResult& result);

  // The committed memory, for Backend::residency.
  std::vector<allocators::AddressRange> regions() const { return map_.regions(); }
  // Notes the state after the last batch on the timeline; it also becomes `end`.
  void sample(const allocators::Residency& residency);

  // What is resident after the last batch; for the peak alone.
  void note_resident(uint64_t bytes) { metrics_.resident_bytes_peak.update(bytes, events_); }

  // After the last batch the allocator was asked to give memory back; `before` was measured then.
  // What is resident afterwards is for the caller to fill in.
  ActionResult& perform(const std::string& action, const allocators::Residency& before,
                        const allocators::GivenBack& given_back);

  // Ends the analysis. What only the tape, the program or the backend knows is left empty: events
  // recorded and skipped, live peaks, counters, latencies, growth.
  RunMetrics take_metrics();

 private:
  using Placement = allocators::Placement;

  void take_away(const allocators::ReplayOp& op, const Placement& placement);
  // False: the block overlaps another one.
  bool put_back(const allocators::ReplayOp& op, const Placement& placement, uint64_t event,
                uint64_t recorded_address);
  void apply(const allocators::RegionEvent& region, uint64_t event, uint64_t live_bytes);
  bool makes_a_peak(const allocators::RegionEvent& region) const;
  void note_holes_at_peak();
  HoleStats holes() const { return places_blocks_ ? map_.holes() : HoleStats(); }
  bool place(uint32_t slot, const Placement& placement);
  void remove(uint32_t slot);

  bool places_blocks_;
  uint64_t checked_granule_ = 0;  // of blocks that are checked; 0 = they are not
  HeapMap map_;
  Fidelity fidelity_;
  std::vector<Placement> placed_;  // by slot; address 0 = none
  std::vector<uint64_t> sizes_;    // requested, by slot
  uint64_t usable_bytes_ = 0;
  uint64_t events_ = 0;
  LiveValues live_;
  bool new_committed_peak_ = false;
  RunMetrics metrics_;
};

}  // namespace heaptape::replayer
