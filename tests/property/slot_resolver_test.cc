// The resolver against one that is too simple to be wrong.
#include "replayer/engine/slot_resolver.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using allocators::ReplayKind;
using allocators::ReplayOp;
using schema::Event;
using schema::OpKind;

// Blocks by address, each known by the event that made it.
class Reference {
 public:
  // What the resolver must have made of the next event. Adds to slots_ what it says.
  void expect(const Event& event, const ReplayOp& op) {
    ++events_;
    const schema::OpInfo& info = schema::op_info(event.op);
    const bool frees = info.kind == OpKind::kRelease || schema::frees_by_resize(event);
    if (schema::is_failed(event)) {
      ++failed_;
      ASSERT_EQ(op.kind, ReplayKind::kNothing);
    } else if (frees) {
      release(event.freed_address, op);
    } else if (info.kind == OpKind::kResize && known_.contains(event.freed_address)) {
      resize(event, op);
    } else {
      allocate(event, op);
    }
  }

  uint64_t events_ = 0, failed_ = 0, unknown_ = 0, live_bytes_ = 0, upper_ = 0, lower_ = 0;
  uint64_t temporaries_ = 0;
  std::map<uint32_t, uint64_t> sizes_;  // of live blocks, by slot; lost blocks included

 private:
  struct Known {
    uint32_t slot;
    uint64_t born;
  };

  void allocate(const Event& event, const ReplayOp& op) {
    ASSERT_TRUE(op.kind >= ReplayKind::kMalloc && op.kind <= ReplayKind::kPvalloc);
    ASSERT_TRUE(sizes_.emplace(op.slot, event.size).second) << "slot " << op.slot << " is in use";
    known_[event.address] = {op.slot, events_};
    live_bytes_ += event.size;
    upper_ += event.size;
    lower_ += event.size;
  }
  void resize(const Event& event, const ReplayOp& op) {
    const Known block = known_.at(event.freed_address);
    known_.erase(event.freed_address);
    known_[event.address] = block;
    ASSERT_EQ(op.kind, ReplayKind::kRealloc);
    ASSERT_EQ(op.slot, block.slot);
    live_bytes_ += event.size - sizes_[block.slot];
    upper_ += event.size;
    lower_ += event.size - sizes_[block.slot];
    sizes_[block.slot] = event.size;
  }
  void release(uint64_t address, const ReplayOp& op) {
    const auto block = known_.find(address);
    if (block == known_.end()) {
      ASSERT_EQ(op.kind, address == 0 ? ReplayKind::kFreeNull : ReplayKind::kNothing);
      unknown_ += address != 0;
      return;
    }
    ASSERT_EQ(op.kind, ReplayKind::kFree);
    ASSERT_EQ(op.slot, block->second.slot);
    temporaries_ += block->second.born + 1 == events_;
    live_bytes_ -= sizes_[op.slot];
    sizes_.erase(op.slot);
    known_.erase(block);
  }

  std::map<uint64_t, Known> known_;  // live blocks, by address
};

void compare(const LiveMetrics& live, const Reference& reference) {
  ASSERT_EQ(live.values().live_count, reference.sizes_.size());
  ASSERT_EQ(live.values().live_bytes, reference.live_bytes_);
  ASSERT_EQ(live.values().cumulative_bytes_upper, reference.upper_);
  ASSERT_EQ(live.values().cumulative_bytes_lower, reference.lower_);
  ASSERT_EQ(live.values().temporaries, reference.temporaries_);
}

void follow(tests::Random& random, const std::vector<Event>& events) {
  SlotResolver resolver;
  Reference reference;
  ResolvedBatch batch;
  size_t most_live = 0;
  for (size_t at = 0; at < events.size() && !testing::Test::HasFatalFailure();) {
    const size_t count = std::min<size_t>(events.size() - at, 1 + random.below(50));
    ASSERT_TRUE(resolver.resolve(std::span(events).subspan(at, count), at, batch).ok());
    for (size_t i = 0; i < count; ++i) {
      reference.expect(events[at + i], batch.ops[i]);
      ASSERT_EQ(batch.live_bytes[i], reference.live_bytes_);
      ASSERT_EQ(batch.recorded_addresses[i], events[at + i].address);
      most_live = std::max(most_live, reference.sizes_.size());
    }
    compare(resolver.live(), reference);
    at += count;
  }
  EXPECT_EQ(batch.slot_limit, most_live);
  EXPECT_EQ(resolver.live().live_count_peak().value, most_live);
  EXPECT_EQ(resolver.skipped().failed_calls, reference.failed_);
  EXPECT_EQ(resolver.skipped().unknown_frees, reference.unknown_);
}

class AnyTape : public testing::Test {
 protected:
  tests::SeededRandom random_;
};

TEST_F(AnyTape, OfPlausibleEventsIsResolvedAsTheReferenceDoes) {
  for (const uint64_t alignment : {8u, 16u}) {
    follow(random_, tests::eventful_events(random_, 20000, alignment));
  }
}

TEST_F(AnyTape, WithLossesIsResolvedAsTheReferenceDoes) {
  for (const uint64_t alignment : {4u, 8u, 16u}) {
    follow(random_, tests::eventful_events(random_, 20000, alignment, true));
  }
}

TEST_F(AnyTape, OfArbitraryEventsIsResolvedAsTheReferenceDoes) {
  for (int round = 0; round < 20; ++round) {
    follow(random_, tests::arbitrary_events(random_, 300));
  }
}

}  // namespace
}  // namespace heaptape::replayer
