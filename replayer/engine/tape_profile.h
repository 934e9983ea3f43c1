// What only a pass without allocators takes the time for: sizes, lifetimes in time, threads.
// docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <cstdint>
#include <span>

#include "allocators/replay_op.h"
#include "base/address/slot_table.h"
#include "replayer/metrics/call_times.h"
#include "replayer/metrics/log_histogram.h"
#include "replayer/metrics/size_histogram.h"
#include "replayer/metrics/thread_totals.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Memory grows with blocks alive at once and with threads, not with events. One thread.
class TapeProfile {
 public:
  // The next events, of which `done` came before, and what SlotResolver made of them.
  void add(const schema::EventBatch& batch, uint64_t done,
           std::span<const allocators::ReplayOp> ops);

  const SizeHistogram& sizes() const { return sizes_; }
  // Nothing of a tape that has no times.
  const LogHistogram* lifetimes_ns() const { return times_.are_known() ? &lifetimes_ns_ : nullptr; }
  const ThreadTotals& threads() const { return threads_; }

 private:
  struct alignas(32) Block {
    uint64_t birth_ns = 0;
    uint64_t size = 0;   // as the program asked for it last
    uint32_t owner = 0;  // the thread that asked for it, or resized it last
  };

  void add_one(const schema::Event& event, uint64_t number, const allocators::ReplayOp& op);
  void take(const schema::Event& event, Block& block);
  void release(const schema::Event& event, uint64_t number, const Block& block);

  CallTimes times_;
  base::SlotTable<Block> blocks_;  // by slot
  SizeHistogram sizes_;
  LogHistogram lifetimes_ns_;
  ThreadTotals threads_;
};

}  // namespace heaptape::replayer
