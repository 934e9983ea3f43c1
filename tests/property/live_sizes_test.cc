// LiveSizes against SlotResolver: both follow the same program.
#include "replayer/engine/live_sizes.h"

#include <gtest/gtest.h>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using schema::Op;

// Any call on a few addresses: doubly handed out, unknown, resized away, failed.
std::vector<Event> impossible_events(tests::Random& random, size_t count) {
  constexpr Op kOps[] = {Op::kMalloc, Op::kFree, Op::kRealloc, Op::kPosixMemalign, Op::kDelete};
  const auto address = [&random] {
    const uint64_t kinds[] = {16, 8, 1};
    return random.below(4) == 0 ? 0 : 0x10000 + random.below(64) * kinds[random.below(3)];
  };
  std::vector<Event> events;
  while (events.size() < count) {
    Event event{.op = kOps[random.below(std::size(kOps))]};
    const schema::OpInfo& info = schema::op_info(event.op);
    const bool is_large = random.below(8) == 0;
    if (info.kind != schema::OpKind::kRelease) {
      event.size = is_large ? (uint64_t{1} << 32) - 4 + random.below(8) : random.below(100);
      event.address = address();
    }
    if (info.kind != schema::OpKind::kAllocate) event.freed_address = address();
    events.push_back(event);
  }
  return events;
}

void expect_same(const std::vector<Event>& events) {
  SlotResolver resolver;
  ResolvedBatch resolved;
  ASSERT_TRUE(resolver.resolve(events, 0, resolved).ok());
  LiveSizes sizes;
  int64_t live_count = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const LiveSizes::Change change = sizes.note(events[i]);
    live_count += change == LiveSizes::Change::kAllocated;
    live_count -= change == LiveSizes::Change::kFreed;
    ASSERT_EQ(sizes.live_bytes(), resolved.live_bytes[i]) << "after call " << i + 1;
  }
  EXPECT_EQ(static_cast<uint64_t>(live_count), resolved.live.live_count);
}

TEST(LiveSizes, OfProgramsAreThoseOfTheResolver) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::Random random(seed);
    expect_same(tests::plausible_events(random, 5000));
  }
}

TEST(LiveSizes, OfImpossibleTapesAreThoseOfTheResolver) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    tests::Random random(seed);
    expect_same(impossible_events(random, 500));
  }
}

}  // namespace
}  // namespace heaptape::replayer
