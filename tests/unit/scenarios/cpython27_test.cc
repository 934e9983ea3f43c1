// Strings of CPython 2.7, by the calls that they make.
#include "scenarios/cpython27.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::scenarios::cpython27 {
namespace {

using schema::Event;
using schema::Op;

// The calls that `script` makes.
std::vector<Event> calls_of(const std::function<void(HeapWriter&)>& script) {
  const tests::TempDir dir;
  auto tape = schema::TapeWriter::create(dir.file("t"), tests::sample_header());
  EXPECT_TRUE(tape.ok());
  HeapWriter heap(**tape);
  script(heap);
  EXPECT_TRUE((*tape)->finish({}).ok());
  auto reader = schema::TapeReader::open(dir.file("t"));
  return tests::read_events(*reader);
}

using Call = std::pair<Op, uint64_t>;
std::vector<Call> brief(const std::vector<Event>& events) {
  std::vector<Call> calls;
  for (const Event& event : events) calls.emplace_back(event.op, event.size);
  return calls;
}

TEST(Str, TakesThirtySevenBytesAndItsCharacters) {
  const auto calls = calls_of([](HeapWriter& heap) { Str(heap, 1000); });
  EXPECT_EQ(brief(calls), (std::vector<Call>{{Op::kMalloc, 1037}, {Op::kFree, 0}}));
}

TEST(Str, TakesNothingForOneCharacterOrNone) {
  EXPECT_TRUE(calls_of([](HeapWriter& heap) {
                Str(heap, 0);
                Str(heap, 1);
              }).empty());
}

TEST(Str, IsCopiedBySlices) {
  const auto calls = calls_of([](HeapWriter& heap) { Str(heap, 100).slice(10, 30); });
  EXPECT_EQ(brief(calls).at(1), Call(Op::kMalloc, 57));
}

TEST(Str, IsItsOwnWholeSlice) {
  const auto calls = calls_of([](HeapWriter& heap) {
    const Str whole = Str(heap, 100).slice(0, 100);
    EXPECT_EQ(whole.length(), 100u);
  });
  EXPECT_EQ(calls.size(), 2u);
}

TEST(Str, BecomesWhatIsAppendedToAnEmptyOne) {
  const auto calls = calls_of([](HeapWriter& heap) {
    Str sum;
    sum.append(Str(heap, 100));
    EXPECT_EQ(sum.length(), 100u);
  });
  EXPECT_EQ(calls.size(), 2u);
}

TEST(Str, GrowsByReallocToItsExactSize) {
  const auto calls = calls_of([](HeapWriter& heap) {
    Str sum(heap, 1000);
    sum.append(Str(heap, 24));
  });
  EXPECT_EQ(brief(calls).at(2), Call(Op::kRealloc, 1061));
}

TEST(Str, IsCopiedWhenAnotherReferenceKeepsIt) {
  const auto calls = calls_of([](HeapWriter& heap) {
    Str sum(heap, 1000);
    const Str other = sum;
    sum.append(Str(heap, 24));
    EXPECT_EQ(other.length(), 1000u);
  });
  EXPECT_EQ(brief(calls).at(2), Call(Op::kMalloc, 1061));
}

TEST(Str, IsLeftAloneByAnEmptyOneWhenAnotherReferenceKeepsIt) {
  const auto calls = calls_of([](HeapWriter& heap) {
    Str sum(heap, 1000);
    const Str other = sum;
    sum.append(Str(heap, 0));
  });
  EXPECT_EQ(calls.size(), 2u);
}

TEST(Str, MayOutliveTheTape) {
  EXPECT_EQ(calls_of([](HeapWriter& heap) { Str(heap, 50).keep_for_good(); }).size(), 1u);
}

TEST(ByteArray, GrowsByAnEighth) {
  EXPECT_EQ(bytearray_capacity(512'001, 512'000 + 4096), 580'614u);
  EXPECT_EQ(bytearray_capacity(524'289, 524'288 + 4096), 594'438u);
}

TEST(ByteArray, GrowsToTheVerySizeWhereAnEighthIsNotEnough) {
  EXPECT_EQ(bytearray_capacity(1000, 1125), 1125u + 140 + 6);
  EXPECT_EQ(bytearray_capacity(1000, 1126), 1127u);
  EXPECT_EQ(bytearray_capacity(0, 5000), 5001u);
}

TEST(ByteArray, GrowsLessWhileItIsTiny) {
  EXPECT_EQ(bytearray_capacity(8, 8), 8u + 1 + 3);
  EXPECT_EQ(bytearray_capacity(9, 9), 9u + 1 + 6);
}

TEST(ByteArray, ShrinksOnlyBelowHalf) {
  EXPECT_EQ(bytearray_capacity(1000, 500), 1000u);
  EXPECT_EQ(bytearray_capacity(1000, 499), 500u);
}

TEST(ByteArray, MakesNoCallWhileThereIsRoom) {
  const auto calls = calls_of([](HeapWriter& heap) {
    ByteArray bytes(heap);
    bytes.extend(512'000);
    bytes.extend(4096);
    bytes.extend(580'614 - 516'096 - 1);
  });
  EXPECT_EQ(brief(calls),
            (std::vector<Call>{{Op::kMalloc, 512'001}, {Op::kRealloc, 580'614}, {Op::kFree, 0}}));
}

}  // namespace
}  // namespace heaptape::scenarios::cpython27
