// Totals for the blocks of each call stack. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "allocators/replay_op.h"
#include "base/address/slot_table.h"
#include "replayer/sites/grouped_histograms.h"
#include "replayer/sites/sample_weight.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// The squares of the standard errors of estimates; 0 where they are exact.
struct StackVariances {
  double calls = 0;
  double asked_bytes = 0;
  double peak_bytes = 0;
  double live_bytes = 0;

  bool operator==(const StackVariances&) const = default;
};

// Totals for the calls of one or more stacks. A block belongs to the stack that asked for it or
// resized it last. All are estimates if stacks were sampled.
struct StackTotals {
  uint64_t calls = 0;        // those that got a block, resizes included
  uint64_t asked_bytes = 0;  // the sum of all requested sizes
  uint64_t peak_bytes = 0;   // in its blocks when the live bytes of the tape peaked
  uint64_t peak_count = 0;   // its blocks then
  uint64_t live_bytes = 0;   // at the end
  uint64_t live_count = 0;
  uint64_t temporaries = 0;      // its blocks freed by the very next call
  uint64_t freed_by_others = 0;  // its blocks freed by another thread
  uint64_t moved_bytes = 0;      // bytes that its resizes had to copy
  uint64_t mapped_bytes = 0;     // that its calls mapped beside malloc; exact in any case
  StackVariances variances = {};

  StackTotals& operator+=(const StackTotals& other);
  bool operator==(const StackTotals&) const = default;
};

struct StackCount {
  schema::FrameNumber number = 0;
  StackTotals totals;
};

// Memory grows with stacks that have blocks, with blocks live at once, and by four bytes for each
// frame of the tape. One thread.
class StackProfile {
 public:
  // `limit`: stack numbers of the tape are below it; others count as 0, no stack.
  // `group_of_stack`: by number, the group for lifetimes; empty: keeps no lifetimes.
  // `weight`: how the stacks of the tape were sampled.
  explicit StackProfile(schema::FrameNumber limit, std::vector<uint32_t> group_of_stack = {},
                        SampleWeight weight = {})
      : weight_(std::move(weight)),
        group_of_stack_(std::move(group_of_stack)),
        index_of_stack_(limit) {}

  // Adds the next events, after `done` earlier ones, with SlotResolver's ops for them.
  void add(const schema::EventBatch& batch, uint64_t done,
           std::span<const allocators::ReplayOp> ops);

  // The `before` calls so far count no longer, but their live blocks are in their stacks.
  void begin_range(uint64_t before);

  // Calls visit(stack, totals) for each stack with any call to malloc or that maps memory, or live
  // blocks of before, in order of the first. Omits 0 if stacks were sampled.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Stack& stack : stacks_) {
      const StackTotals totals = totals_of(stack);
      if (!is_whole_tape(stack) && totals != StackTotals()) visit(stack.number, totals);
    }
  }
  const SampleWeight& weight() const { return weight_; }
  // For the whole tape, exact. Only for sampled stacks.
  StackTotals whole_tape() const;
  // How many calls had their stacks recorded.
  uint64_t sampled_calls() const { return sampled_calls_; }
  // The same as a copy that outlives the profile.
  std::vector<StackCount> by_stack() const;
  // In calls, for freed blocks, by the group of the stack that they belonged to.
  // Each block counts lifetime_unit(), times its weight if stacks were sampled.
  const GroupedHistograms& lifetimes() const { return lifetimes_; }
  uint64_t lifetime_unit() const { return weight_.is_sampled() ? 1u << kEstimateShift : 1; }
  // The first call after which live bytes were at their peak, from 1; 0 if there was none.
  uint64_t peak_at() const { return peak_at_; }

 private:
  // Current values, and those when this stack last changed before or at `peak`.
  struct Stack {
    schema::FrameNumber number = 0;
    uint64_t calls = 0;
    uint64_t asked_bytes = 0;
    uint64_t live_bytes = 0;
    uint64_t live_count = 0;
    uint64_t saved_bytes = 0;
    uint64_t saved_count = 0;
    uint64_t peak = 0;  // number of the peak at which the saved values held
    uint64_t temporaries = 0;
    uint64_t freed_by_others = 0;
    uint64_t moved_bytes = 0;
    uint64_t mapped_bytes = 0;
  };
  // The variances of a stack's estimates. Those that shrink are integers in units of
  // spread_unit(), so that a block takes away exactly as much as it added.
  struct Spread {
    double calls = 0;
    double asked_bytes = 0;
    uint64_t live_bytes = 0;
    uint64_t saved_bytes = 0;
  };
  // The amounts that a block or its call adds to its stack, in the units of the stack.
  struct Share {
    uint64_t count;
    uint64_t bytes;
  };
  // Estimates have units of 1 / 1024: a block takes away exactly as much as it added.
  static constexpr int kEstimateShift = 10;
  static constexpr uint64_t rounded(uint64_t estimate) {
    return (estimate + (1u << (kEstimateShift - 1))) >> kEstimateShift;
  }

  struct alignas(32) Block {
    uint64_t size = 0;
    uint64_t birth = 0;  // the call that asked for it, from 1
    uint32_t stack = 0;  // index into stacks_
    uint32_t owner = 0;  // the thread that asked for it or resized it last
  };

  // If stacks were sampled, number 0 has the totals of the whole tape.
  bool is_whole_tape(const Stack& stack) const { return weight_.is_sampled() && stack.number == 0; }
  bool has_estimates(const Stack& stack) const { return weight_.is_sampled() && stack.number != 0; }
  // Calls act(stack) for the stack of the block, and for the whole tape if that is kept separately.
  template <typename Act>
  void for_each_owner(const Block& block, Act act) {
    if (has_estimates(stacks_[block.stack])) [[unlikely]]
      act(stacks_[index_of(0)]);
    act(stacks_[block.stack]);
  }
  uint64_t weighed(const Stack& stack, uint64_t size, uint64_t amount) const;
  Share share_of(const Stack& stack, uint64_t size) const;
  void add_mapped(const schema::MappingCall& call);
  void take(const schema::Event& event, uint64_t number, schema::FrameNumber stack, Block& block);
  void release(const schema::Event& event, uint64_t number, const Block& block);
  void leave(const Block& block);
  uint32_t index_of(schema::FrameNumber number);
  void save_peak(Stack& stack);
  Spread& spread_of(const Stack& stack);
  double spread_unit() const;
  uint64_t live_spread_of(uint64_t size) const;
  StackVariances variances_of(const Stack& stack) const;
  StackTotals totals_of(const Stack& stack) const;

  SampleWeight weight_;
  uint64_t sampled_calls_ = 0;
  std::vector<uint32_t> group_of_stack_;
  std::vector<uint32_t> index_of_stack_;  // by number: index into stacks_ plus one; 0: none
  std::vector<Stack> stacks_;
  std::vector<Spread> spreads_;    // as stacks_; empty if all is exact
  base::SlotTable<Block> blocks_;  // by slot
  GroupedHistograms lifetimes_;
  uint64_t live_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t peak_at_ = 0;
  uint64_t peak_ = 0;  // number of peaks so far, each higher than the last
};

}  // namespace heaptape::replayer
