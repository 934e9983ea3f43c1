// Watches one backend's answers and keeps all metrics of the run, event by event.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "base/address/slot_table.h"
#include "replayer/answers/account.h"
#include "replayer/answers/heap_growths.h"
#include "replayer/answers/pins.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/heap_map/heap_film.h"
#include "replayer/heap_map/heap_map.h"
#include "replayer/heap_map/heap_picture.h"
#include "replayer/heap_map/unseen_memory.h"
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
  struct Options {
    uint64_t recorded_break = 0;  // where the heap of the recorded run began; 0 = not known
    size_t heap_growths = 0;      // how many of the largest to keep
    bool keep_frees = false;      // for pictures
    bool keep_film = false;       // frames at samples and moments
  };
  RunAnalysis(const allocators::BackendTraits& traits, const Options& options);

  // What the allocator took before its first call. At most once, before add().
  void start(const std::vector<allocators::RegionEvent>& regions);
  // Fails with kTarget at the first block of foreign code that is not what it must be; nothing may
  // follow then.
  base::Status add(const ResolvedBatch& batch, const allocators::BatchResult& result);

  // When the blocks were made that have the first slots.
  void set_births(std::span<const uint64_t> births);
  // After the last batch: from here on all figures count anew, and peaks begin with this state.
  void begin_range();

  // Notes the state after the last batch on the timeline; it also becomes `end`.
  void sample(const allocators::Residency& residency, std::optional<uint64_t> time_ns = {});
  // Notes the account of that state, with what lies in gaps() and is not free, for each of these
  // moments.
  void look(std::span<const Moment> moments, const allocators::Residency& residency,
            const allocators::KeptMemory& kept);

  // To the moments of the last look(), but for marks. `run_calls`: of the whole run.
  void note_pins(std::span<const PinningBlock> blocks, uint64_t run_calls);
  // To the same moments.
  void note_culprit(const std::optional<PinnedBy>& culprit);

  // To the account noted last.
  void note_own(const allocators::OwnStatistics& own);
  // Of the same state every stretch of committed memory without a live block, and all blocks. The
  // time grows with the live blocks.
  std::vector<allocators::AddressRange> gaps() const;
  HeapPicture picture(const allocators::Residency& residency) const;

  // What look() and sample() took frames of; null where it is not kept, or blocks have no places.
  std::shared_ptr<const HeapFilm> film() const { return film_; }

  // What is resident after the last batch; for the peak alone.
  void note_resident(uint64_t bytes) { metrics_.resident_bytes_peak.update(bytes, events_); }

  // After the last batch the allocator's memory changed.
  void add(std::span<const allocators::RegionEvent> regions);
  // After the last batch the allocator was asked to give memory back; `before` was measured then.
  // What is resident afterwards is for the caller to fill in.
  ActionResult& perform(const std::string& action, const allocators::Residency& before,
                        const allocators::GivenBack& given_back);

  // Ends the analysis. What only the tape, the program or the backend knows is left empty: events
  // recorded and skipped, live peaks, counters, latencies, growth.
  RunMetrics take_metrics();

 private:
  using Placement = allocators::Placement;

  // Half a cache line.
  struct Block {
    uint64_t address = 0;  // 0 = none
    uint64_t usable_bytes = 0;
    uint64_t requested_bytes = 0;
    uint64_t birth : 48 = 0;   // number of the call that made it, from 1
    uint64_t thread : 16 = 0;  // that made it
  };
  static_assert(sizeof(Block) == 32);
  static LiveBlock live_block(const Block& block);

  // Those of the last look(), but for marks.
  std::vector<MomentState*> last_moments();
  void take_away(const allocators::ReplayOp& op, const Placement& placement, uint64_t event);
  // False: the block overlaps another one.
  bool put_back(const allocators::ReplayOp& op, const Placement& placement, uint64_t event,
                uint64_t recorded_address);
  void apply(const allocators::RegionEvent& region, uint64_t event, uint64_t live_bytes);
  bool makes_a_peak(const allocators::RegionEvent& region) const;
  void note_holes_at_peak();
  void watch_growth(std::span<const allocators::RegionEvent> regions,
                    const allocators::ReplayOp& op, const Placement& placement, uint64_t event);
  std::optional<LiveBlock> find_pin(uint64_t hole_bytes) const;
  void take_frame(const allocators::Residency& residency, bool is_kept);
  Snapshot snapshot(const allocators::Residency& residency) const;
  Account account(const allocators::Residency& residency, const allocators::KeptMemory& kept) const;
  std::optional<std::vector<allocators::AddressRange>> unseen() const;
  HoleStats holes() const { return places_blocks_ ? map_.holes() : HoleStats(); }
  bool place(const allocators::ReplayOp& op, const Placement& placement, uint64_t event);
  void remove(uint32_t slot, uint64_t event);

  const allocators::BackendTraits traits_;
  bool places_blocks_;
  uint64_t checked_granule_ = 0;  // of blocks that are checked; 0 = they are not
  HeapMap map_;
  UnseenMemory unseen_;
  bool has_unseen_ = false;  // there was some
  Fidelity fidelity_;
  base::SlotTable<Block> blocks_;  // by slot
  uint64_t usable_bytes_ = 0;
  uint64_t events_ = 0;
  LiveValues live_;
  bool new_committed_peak_ = false;
  HeapGrowths heap_growths_;
  std::shared_ptr<LastFrees> frees_;  // null: not kept
  std::shared_ptr<HeapFilm> film_;    // likewise
  uint64_t film_visits_ = 0;          // of blocks, for all its frames
  RunMetrics metrics_;
};

}  // namespace heaptape::replayer
