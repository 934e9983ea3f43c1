// What the blocks of each call stack come to. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "allocators/replay_op.h"
#include "base/address/slot_table.h"
#include "replayer/sites/grouped_histograms.h"
#include "replayer/sites/sample_weight.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Of the calls of one stack, or of several. A block belongs to the stack that asked for it, or
// resized it last. Where stacks were sampled all are estimates.
struct StackTotals {
  uint64_t calls = 0;        // that got a block, resizes included
  uint64_t asked_bytes = 0;  // every size that they asked for
  uint64_t peak_bytes = 0;   // of its blocks when the live bytes of the tape were at their peak
  uint64_t peak_count = 0;   // of its blocks then
  uint64_t live_bytes = 0;   // at the end
  uint64_t live_count = 0;
  uint64_t temporaries = 0;      // its blocks that the very next call freed
  uint64_t freed_by_others = 0;  // its blocks that another thread freed
  uint64_t moved_bytes = 0;      // that its resizes had to copy

  StackTotals& operator+=(const StackTotals& other);
  bool operator==(const StackTotals&) const = default;
};

struct StackCount {
  schema::FrameNumber number = 0;
  StackTotals totals;
};

// Memory grows with stacks that have blocks, with blocks alive at once, and by four bytes for each
// frame of the tape. One thread.
class StackProfile {
 public:
  // `limit`: the stacks of the tape have numbers below; others count as 0, no stack.
  // `group_of_stack`: by number, the group by which lifetimes are kept; empty: they are not.
  // `weight`: how the stacks of the tape were chosen.
  explicit StackProfile(schema::FrameNumber limit, std::vector<uint32_t> group_of_stack = {},
                        SampleWeight weight = {})
      : weight_(weight), group_of_stack_(std::move(group_of_stack)), index_of_stack_(limit) {}

  // The next events, of which `done` came before, and what SlotResolver made of them.
  void add(const schema::EventBatch& batch, uint64_t done,
           std::span<const allocators::ReplayOp> ops);

  // Calls visit(stack, totals) for each that has any call, in the order of their first ones. Where
  // stacks were sampled, 0 is not among them.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Stack& stack : stacks_) {
      if (!is_whole_tape(stack)) visit(stack.number, totals_of(stack));
    }
  }
  const SampleWeight& weight() const { return weight_; }
  // Of the whole tape, no estimates. For sampled stacks.
  StackTotals whole_tape() const;
  // How many calls had their stacks recorded.
  uint64_t sampled_calls() const { return sampled_calls_; }
  // The same, to be kept when the profile goes.
  std::vector<StackCount> by_stack() const;
  // In calls, of blocks that were freed, by the group of the stack that they belonged to.
  // Each block counts for lifetime_unit(), or where stacks were sampled for that many times more.
  const GroupedHistograms& lifetimes() const { return lifetimes_; }
  uint64_t lifetime_unit() const { return weight_.is_sampled() ? 1u << kEstimateShift : 1; }
  // The first call after which live bytes were at their peak, from 1; 0: there was none.
  uint64_t peak_at() const { return peak_at_; }

 private:
  // Live values as they are, and as they were when this stack last changed before or at `peak`.
  struct Stack {
    schema::FrameNumber number = 0;
    uint64_t calls = 0;
    uint64_t asked_bytes = 0;
    uint64_t live_bytes = 0;
    uint64_t live_count = 0;
    uint64_t saved_bytes = 0;
    uint64_t saved_count = 0;
    uint64_t peak = 0;  // the peak, by its number, at which the saved values stood
    uint64_t temporaries = 0;
    uint64_t freed_by_others = 0;
    uint64_t moved_bytes = 0;
  };
  // What a call for a block, or the block, adds to its stack, in the units of that.
  struct Share {
    uint64_t count;
    uint64_t bytes;
  };
  // Estimates are kept in units of 1 / 1024: what a block added it takes away again.
  static constexpr int kEstimateShift = 10;
  static constexpr uint64_t rounded(uint64_t estimate) {
    return (estimate + (1u << (kEstimateShift - 1))) >> kEstimateShift;
  }

  struct alignas(32) Block {
    uint64_t size = 0;
    uint64_t birth = 0;  // the call that asked for it, from 1
    uint32_t stack = 0;  // index into stacks_
    uint32_t owner = 0;  // the thread that asked for it, or resized it last
  };

  // Where stacks were sampled, number 0 has the totals of the whole tape.
  bool is_whole_tape(const Stack& stack) const { return weight_.is_sampled() && stack.number == 0; }
  bool has_estimates(const Stack& stack) const { return weight_.is_sampled() && stack.number != 0; }
  // Calls act(stack) for the stack of the block, and for the whole tape if that is kept besides.
  template <typename Act>
  void for_each_owner(const Block& block, Act act) {
    if (has_estimates(stacks_[block.stack])) [[unlikely]]
      act(stacks_[index_of(0)]);
    act(stacks_[block.stack]);
  }
  uint64_t weighed(const Stack& stack, uint64_t size, uint64_t amount) const;
  Share share_of(const Stack& stack, uint64_t size) const;
  void take(const schema::Event& event, uint64_t number, schema::FrameNumber stack, Block& block);
  void release(const schema::Event& event, uint64_t number, const Block& block);
  void leave(const Block& block);
  uint32_t index_of(schema::FrameNumber number);
  void save_peak(Stack& stack) const;
  StackTotals totals_of(const Stack& stack) const;

  SampleWeight weight_;
  uint64_t sampled_calls_ = 0;
  std::vector<uint32_t> group_of_stack_;
  std::vector<uint32_t> index_of_stack_;  // by number: one more than that into stacks_; 0: none
  std::vector<Stack> stacks_;
  base::SlotTable<Block> blocks_;  // by slot
  GroupedHistograms lifetimes_;
  uint64_t live_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t peak_at_ = 0;
  uint64_t peak_ = 0;  // number of peaks so far, each higher than the last
};

}  // namespace heaptape::replayer
