// What stands beside the holes of a run, as its report has it.
#include <gtest/gtest.h>

#include "replayer/engine/replay.h"
#include "replayer/engine/tape_moments.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class MomentPins : public testing::Test {
 protected:
  MomentPins() { tests::write_pinned_tape(dir_.file("a.tape"), {}); }

  std::vector<MomentState> moments_of(const std::string& spec, bool keep_pins = true) {
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    ReplayOptions options{.specs = {*allocators::parse_spec(spec)}, .keep_pins = keep_pins};
    options.moments = *find_moments(*tape, UINT64_MAX, {});
    options.moments.push_back({.name = "mark:x", .event = tape->events()});
    auto runs = replay(*tape, options, {});
    EXPECT_TRUE(runs.ok()) << runs.error().message;
    return runs->at(0).metrics.moments;
  }

  tests::TempDir dir_;
};

TEST_F(MomentPins, AddUpToTheResidentBytesInHoles) {
  for (const char* const spec : {"model:ptmalloc", "model:slabs", "model:first-fit", "recorded"}) {
    for (const MomentState& state : moments_of(spec)) {
      if (!state.pins) continue;
      uint64_t bytes = 0;
      for (const Cohort& cohort : *state.pins) bytes += cohort.bytes;
      EXPECT_EQ(bytes, state.snapshot.resident_hole_bytes) << spec << " " << state.moment.name;
    }
  }
}

TEST_F(MomentPins, AreOfEachMomentButMarks) {
  for (const MomentState& state : moments_of("model:ptmalloc")) {
    EXPECT_EQ(state.pins.has_value(), state.moment.name != "mark:x") << state.moment.name;
  }
}

TEST_F(MomentPins, AreBlocksOfTheSizesThatWereAskedFor) {
  const auto moments = moments_of("model:ptmalloc");
  ASSERT_FALSE(moments.front().pins->empty());
  for (const Cohort& cohort : *moments.front().pins) {
    EXPECT_EQ(cohort.size_bytes, 24u);
    EXPECT_LE(cohort.last_birth, moments.front().moment.event);
  }
}

TEST_F(MomentPins, AreNotKeptUnasked) {
  for (const MomentState& state : moments_of("model:ptmalloc", false)) {
    EXPECT_FALSE(state.pins.has_value());
  }
}

TEST_F(MomentPins, AreNotKnownWhereBlocksHaveNoPlaces) {
  for (const MomentState& state : moments_of("noop")) EXPECT_FALSE(state.pins.has_value());
}

}  // namespace
}  // namespace heaptape::replayer
