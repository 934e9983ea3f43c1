// Whatever the events, a tape gives them back.
#include <gtest/gtest.h>

#include "schema/tape/tape_writer.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

std::vector<Event> through_a_tape(const std::vector<Event>& events, size_t batch_events) {
  tests::TempDir dir;
  tests::write_tape(dir.file("t"), events);
  auto reader = TapeReader::open(dir.file("t"));
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  return tests::read_events(*reader, batch_events);
}

TEST(TapeRoundTrip, IsTheIdentityOnArbitraryEvents) {
  tests::SeededRandom random;
  for (int round = 0; round < 30; ++round) {
    const auto events = tests::arbitrary_events(random, random.below(3000));
    ASSERT_EQ(through_a_tape(events, 1 + random.below(5000)), events) << "round " << round;
  }
}

TEST(TapeRoundTrip, IsTheIdentityOnLongPlausibleRuns) {
  tests::SeededRandom random;
  for (const uint64_t alignment : {8u, 16u}) {
    const auto events = tests::plausible_events(random, 200000, alignment, 5);
    ASSERT_TRUE(through_a_tape(events, 4096) == events) << "alignment " << alignment;
  }
}

TEST(TapeRoundTrip, IsTheIdentityWhereverTheWriterFlushesAndSaves) {
  tests::SeededRandom random;
  tests::TempDir dir;
  const auto events = tests::arbitrary_events(random, 5000);
  auto writer = TapeWriter::create(dir.file("t"), tests::sample_header());
  ASSERT_TRUE(writer.ok());
  for (const Event& event : events) {
    (*writer)->append(event);
    if (random.chance(100)) (*writer)->flush();
    if (random.chance(100)) (*writer)->save();
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  auto reader = TapeReader::open(dir.file("t"));
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(tests::read_events(*reader), events);
}

}  // namespace
}  // namespace heaptape::schema
