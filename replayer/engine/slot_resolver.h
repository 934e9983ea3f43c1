// Turns the events of a tape into ops on slots, once for all backends. docs/architecture.md,
// "Slots".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allocators/backend.h"
#include "base/address/address_shadow.h"
#include "base/address/slot_table.h"
#include "base/result.h"
#include "replayer/metrics/live_metrics.h"
#include "replayer/metrics/program_profile.h"
#include "schema/tape/event.h"

namespace heaptape::replayer {

// Consecutive events as a backend takes them, one op each.
struct ResolvedBatch {
  uint64_t first_event = 0;  // calls before ops[0]
  uint32_t slot_limit = 0;   // every slot so far is below
  std::vector<allocators::ReplayOp> ops;
  std::vector<uint64_t> recorded_addresses;  // of the block each op placed; 0 = none
  std::vector<uint64_t> live_bytes;          // after each op
  std::vector<schema::ProcessSample> samples;
  std::vector<schema::TimeSample> times;
  std::optional<schema::TimeSample> next_time;
  std::vector<schema::ThreadEnd> thread_ends;
  std::vector<schema::SteeringCall> steering;  // made during these, or behind them
  allocators::Deaths deaths;                   // not the resolver's
  LiveValues live;                             // after the last op
  // Not empty: by slot, when the blocks that are live after the last op were really born.
  std::vector<uint64_t> births;
};

// Events that no backend is asked to repeat.
struct SkippedCounts {
  uint64_t failed_calls = 0;   // they failed when they were recorded
  uint64_t unknown_frees = 0;  // of blocks that no event of the tape handed out
  // The same: allocations to a backend, and therefore part of no sum with the others.
  uint64_t unknown_resizes = 0;
};

// Guarantees:
// - One op for each event, in order. What no backend is asked to repeat is kNothing, and counted.
// - No two live blocks share a slot. A block keeps its slot through every resize.
// - A freed slot is the next one handed out, so there are no more slots than blocks at their peak.
// - A block that is handed out while it is alive (its free is missing on the tape) gets a new slot;
//   the old one stays alive to the end, and counts as a live block.
// - Memory grows with slots and with the address space in which blocks began, not with events.
//
// One thread; events in the order of the tape.
class SlotResolver {
 public:
  // `run_calls`: how many events will come, which only shares of the run are taken of.
  // `slot_limit`: less than there are only where a test wants to see the end of them.
  explicit SlotResolver(uint64_t run_calls = 0, uint32_t slot_limit = base::AddressShadow::kNone)
      : run_calls_(run_calls), slot_limit_(slot_limit), program_(run_calls) {}

  // Replaces all of `batch` but its samples, times, next time, thread ends, steering, deaths and
  // births. Fails when more blocks are alive than there are slots; then this object is of no more
  // use.
  base::Status resolve(std::span<const schema::Event> events, uint64_t first_event,
                       ResolvedBatch& batch);

  // Slots of blocks that another resolver knows.
  struct Slots {
    std::vector<uint32_t> of_blocks;
    std::vector<uint32_t> free;  // slots that no live block has
    uint32_t limit = 0;          // every slot is below
  };
  // The slots of the live blocks that these events hand out.
  Slots slots_of(std::span<const schema::Event> blocks) const;
  // The first events will hand out those blocks again, in that order, and they keep their slots.
  // Before resolve().
  void begin_with(const Slots& slots);

  // The `before` calls so far count no longer; their live blocks do.
  void begin_range(uint64_t before);

  // Every slot so far is below.
  uint32_t slot_limit() const { return static_cast<uint32_t>(blocks_.size()); }

  // ProgramProfile keeps which sizes and cohorts are alive after that call, and which cohorts at
  // the end; 0: none of it.
  void keep_live_after(uint64_t call) { keep_live_after_ = call; }

  // No more events come. Once.
  void finish();

  const LiveMetrics& live() const { return live_; }
  // Whole only after finish().
  const ProgramProfile& program() const { return program_; }
  const SkippedCounts& skipped() const { return skipped_; }
  // Blocks freed by a thread, and by another one than asked for them (or resized them last).
  uint64_t releases() const { return releases_; }
  uint64_t foreign_releases() const { return foreign_releases_; }

 private:
  // Of a live block. Half a cache line, so that none lies in two.
  struct alignas(32) Block {
    uint64_t size = 0;   // requested bytes
    uint64_t birth = 0;  // the call that asked for it, from 1; 0: it is not alive
    uint32_t owner = 0;  // the thread that asked for it, or resized it last
    uint32_t chain = GrowthChains::kNone;
  };
  static_assert(sizeof(Block) == 32);

  allocators::ReplayOp resolve_one(const schema::Event& event, uint64_t number);
  allocators::ReplayOp allocate(const schema::Event& event, uint64_t number);
  allocators::ReplayOp resize(const schema::Event& event, uint64_t number);
  allocators::ReplayOp release(const schema::Event& event, uint64_t number);
  uint32_t take_slot();
  Cohorts cohorts() const;
  void keep_live();

  uint64_t run_calls_;
  uint32_t slot_limit_;
  uint64_t keep_live_after_ = 0;
  base::AddressShadow shadow_;     // slots
  base::SlotTable<Block> blocks_;  // by slot
  std::vector<uint32_t> free_slots_;
  LiveMetrics live_;
  ProgramProfile program_;
  SkippedCounts skipped_;
  uint64_t releases_ = 0;
  uint64_t foreign_releases_ = 0;
};

}  // namespace heaptape::replayer
