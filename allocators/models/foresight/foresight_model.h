// model:foresight: an allocator that cannot move blocks, but knows when each one dies.
// docs/models/foresight.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "allocators/models/block_sizes.h"
#include "allocators/models/foresight/page_heap.h"
#include "allocators/models/model.h"
#include "base/parameters.h"

namespace heaptape::allocators {

// How the place of a block is chosen. In every case, a block begins a page only if no page has
// room.
enum class Placing : uint8_t {
  kFirst,   // on the lowest page
  kFit,     // where the room is the tightest
  kDeaths,  // on the page that dies soonest after the block, else on the one that dies latest
  kBoxes,   // the same, among pages whose remaining life is about the block's
};
inline constexpr int kPlacings = 4;

class ForesightModel {
 public:
  ForesightModel(AddressSpace& space, Placing placing);

  // For the next call: its time, and when the block that it places is freed or resized.
  void set_death(uint32_t now, uint32_t death) {
    now_ = now;
    death_ = death;
  }

  // As SimulatedAllocator says. A resized block is placed anew, after its old place is freed.
  Placement allocate(uint64_t bytes, uint64_t alignment);
  Placement allocate_zeroed(uint64_t bytes) { return allocate(bytes, 0); }
  Placement reallocate(uint64_t address, uint64_t bytes);
  void release(uint64_t address);

  std::vector<AddressRange> absent() const { return {}; }
  std::vector<Counter> counters() const { return {}; }
  uint64_t work() const { return 0; }
  static const char* work_unit() { return ""; }
  static BackendTraits traits() { return {.min_hole_bytes = foresight::kGranuleBytes}; }

 private:
  using Room = foresight::Room;
  using NewBlock = foresight::NewBlock;
  using Candidate = foresight::Candidate;

  // Where the block will lie; 0 if there is no such place.
  uint64_t choose_place(const NewBlock& block);
  uint64_t choose_run(const NewBlock& block);
  uint64_t choose_tail(const NewBlock& block);
  uint64_t choose_stretch(const NewBlock& block);
  // Each finds a page with such room for which accepts(page) is true; 0 if there is none. Later:
  // among pages that die no sooner than the block; earlier: among those whose life it extends. If
  // pages are not sorted by their deaths, all count as later.
  template <typename Accepts>
  uint64_t choose_later(Room room, uint64_t bytes, Accepts accepts);
  template <typename Accepts>
  uint64_t choose_earlier(Room room, uint64_t bytes, Accepts accepts);
  // The page with the least room, at or after `page`.
  template <typename Next, typename Accepts>
  uint64_t tightest(std::optional<Candidate> page, uint64_t bytes, Next next,
                    Accepts accepts) const;
  bool is_near(uint32_t page_death) const;

  const Placing placing_;
  foresight::PageHeap heap_;
  BlockSizes sizes_;
  uint32_t now_ = 0;
  uint32_t death_ = foresight::kNever;
};
static_assert(SimulatedAllocator<ForesightModel>);

// Replays a tape with the placement strategy that suits it best, or with a given one. A rehearsal
// finds the best: all strategies serve the tape side by side, and the lowest peak of committed
// memory wins.
class ForesightBackend : public Backend {
 public:
  explicit ForesightBackend(const base::Values& options);
  static std::vector<base::Parameter> parameters();

  const BackendTraits& traits() const override { return traits_; }
  Result<std::vector<RegionEvent>> start() override { return std::vector<RegionEvent>(); }
  bool has_foresight() const override { return true; }
  Status rehearse(const ReplayBatch& batch) override;
  Status submit(const ReplayBatch& batch) override;
  Status collect(BatchResult& result) override { return chosen_->collect(result); }
  Result<Residency> residency(std::span<const AddressRange> regions) override {
    return chosen_->residency(regions);
  }
  std::vector<Counter> counters() override { return {}; }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Rehearsal {
    size_t placing;
    std::unique_ptr<Backend> heap;
    uint64_t committed_bytes = 0;
    uint64_t peak_bytes = 0;
  };

  void choose();

  BackendTraits traits_;
  std::vector<Rehearsal> rehearsals_;  // until the first batch; empty if the strategy is given
  size_t placing_;
  std::unique_ptr<Backend> chosen_;  // from the first batch on
  std::vector<std::string> notes_;
};

}  // namespace heaptape::allocators
