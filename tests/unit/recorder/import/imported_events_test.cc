#include "recorder/import/imported_events.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "schema/tape/tape_text.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using schema::Op;
using Addresses = ImportedEvents::Addresses;

class ImportedEventsTest : public testing::Test {
 protected:
  void begin(Addresses addresses) {
    writer_ = std::move(*schema::TapeWriter::create(path_, tests::sample_header()));
    events_.emplace(*writer_, addresses);
  }
  bool malloc(uint64_t block, uint64_t size, uint64_t thread = 7) {
    return events_->add({.op = Op::kMalloc, .thread = thread, .block = block, .size = size});
  }
  bool realloc(uint64_t old_block, uint64_t block, uint64_t size) {
    return events_->add({.op = Op::kRealloc, .block = block, .old_block = old_block, .size = size});
  }
  bool free(uint64_t block, uint64_t thread = 7) {
    return events_->add({.op = Op::kFree, .thread = thread, .old_block = block});
  }
  schema::TapeReader finish() {
    EXPECT_TRUE(writer_->finish({}).ok());
    return std::move(*schema::TapeReader::open(path_));
  }
  std::vector<schema::Event> tape() {
    auto reader = finish();
    return tests::read_events(reader);
  }
  // "malloc(24) = 0x10; free(0x10); "
  std::string calls() {
    std::string text;
    for (const schema::Event& event : tape()) {
      std::string line;
      schema::append_event(line, schema::TextFormat::kText, 0, event);
      text += line.substr(line.find(' ', line.find('t')) + 1, line.size() - 6) + "; ";
    }
    std::erase(text, '\n');
    return text;
  }
  const ImportTroubles& troubles() const { return events_->troubles(); }

  tests::TempDir dir_;
  std::string path_ = dir_.file("tape");
  std::unique_ptr<schema::TapeWriter> writer_;
  std::optional<ImportedEvents> events_;
};

TEST_F(ImportedEventsTest, KeepsTheAddressesOfATraceThatHasThem) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  realloc(0x10, 0x40, 100);
  free(0x40);
  EXPECT_EQ(calls(), "malloc(24) = 0x10; realloc(0x10, 100) = 0x40; free(0x40); ");
}

TEST_F(ImportedEventsTest, PutsInTheFreeOfABlockWhoseAddressIsHandedOutAgain) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  malloc(0x10, 32);
  EXPECT_EQ(calls(), "malloc(24) = 0x10; free(0x10); malloc(32) = 0x10; ");
  EXPECT_EQ(troubles().missed_frees, 1u);
}

TEST_F(ImportedEventsTest, PutsInTheFreeOfABlockThatAResizeLandsOn) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  malloc(0x40, 24);
  realloc(0x10, 0x40, 30);
  EXPECT_EQ(calls(),
            "malloc(24) = 0x10; malloc(24) = 0x40; free(0x40); realloc(0x10, 30) = 0x40; ");
  EXPECT_EQ(troubles().missed_frees, 1u);
}

// The free of the block that it lands on moves others in the table, now and then the resized one.
TEST_F(ImportedEventsTest, ResizesTheRightBlockWhereverItLands) {
  constexpr size_t kBlocks = 500;  // of the table's first 1,024
  begin(Addresses::kOfTrace);
  tests::Random random(5);
  std::vector<uint64_t> live;
  std::vector<uint64_t> unused;  // at random: addresses in a row would be far apart in the table
  while (unused.size() < kBlocks + 1) unused.push_back(16 + 16 * random.below(uint64_t{1} << 36));
  for (int i = 0; i < 20'000; ++i) {
    while (live.size() < kBlocks) {
      std::swap(unused[random.below(unused.size())], unused.back());
      ASSERT_TRUE(malloc(live.emplace_back(unused.back()), 8));
      unused.pop_back();
    }
    std::swap(live[random.below(kBlocks)], live.back());
    const size_t old = random.below(kBlocks - 1);
    ASSERT_TRUE(realloc(live[old], live.back(), 16));
    unused.push_back(live[old]);
    live[old] = live.back();
    live.pop_back();
  }
  for (const uint64_t block : live) free(block);
  EXPECT_EQ(troubles().missed_frees, 20'000u);
  EXPECT_EQ(troubles().unknown_resizes, 0u);
  EXPECT_EQ(troubles().unknown_frees + troubles().double_frees, 0u);
}

TEST_F(ImportedEventsTest, LeavesOutAndCountsTheFreeOfABlockThatItDoesNotKnow) {
  begin(Addresses::kOfTrace);
  free(0x10);
  EXPECT_EQ(calls(), "");
  EXPECT_EQ(troubles().unknown_frees, 1u);
}

TEST_F(ImportedEventsTest, TellsADoubleFreeFromOneOfAnUnknownBlock) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  free(0x10);
  free(0x10);
  EXPECT_EQ(calls(), "malloc(24) = 0x10; free(0x10); ");
  EXPECT_EQ(troubles().double_frees, 1u);
  EXPECT_EQ(troubles().unknown_frees, 0u);
}

TEST_F(ImportedEventsTest, AFreeOfWhatAResizeGaveUpIsADoubleFree) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  realloc(0x10, 0x40, 100);
  free(0x10);
  EXPECT_EQ(troubles().double_frees, 1u);
}

TEST_F(ImportedEventsTest, TheResizeOfAnUnknownBlockIsOneOfNone) {
  begin(Addresses::kOfTrace);
  realloc(0x10, 0x40, 100);
  EXPECT_EQ(calls(), "realloc(NULL, 100) = 0x40; ");
  EXPECT_EQ(troubles().unknown_resizes, 1u);
}

TEST_F(ImportedEventsTest, AResizeToNothingThatReturnsNoBlockFrees) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  realloc(0x10, 0, 0);
  malloc(0x10, 24);
  EXPECT_EQ(calls(), "malloc(24) = 0x10; realloc(0x10, 0) = NULL; malloc(24) = 0x10; ");
  EXPECT_EQ(troubles().missed_frees, 0u);
}

TEST_F(ImportedEventsTest, AResizeThatFailedLeavesTheBlock) {
  begin(Addresses::kOfTrace);
  malloc(0x10, 24);
  realloc(0x10, 0, 1000);
  free(0x10);
  EXPECT_EQ(calls(), "malloc(24) = 0x10; realloc(0x10, 1000) = NULL; free(0x10); ");
}

TEST_F(ImportedEventsTest, KeepsCallsThatFailedAndFreesOfNull) {
  begin(Addresses::kOfTrace);
  malloc(0, 24);
  free(0);
  EXPECT_EQ(calls(), "malloc(24) = NULL; free(NULL); ");
}

TEST_F(ImportedEventsTest, RefusesAnAddressThatNoProcessHas) {
  begin(Addresses::kOfTrace);
  EXPECT_FALSE(malloc(uint64_t{1} << 57, 24));
  EXPECT_FALSE(free(UINT64_MAX));
  EXPECT_EQ(calls(), "");
}

TEST_F(ImportedEventsTest, MadeUpAddressesAreAligned) {
  begin(Addresses::kMadeUp);
  events_->add({.op = Op::kMemalign, .block = 1, .size = 10, .alignment = 4096});
  events_->add({.op = Op::kValloc, .block = 2, .size = 10});
  for (const schema::Event& event : tape()) EXPECT_EQ(event.address % 4096, 0u);
}

TEST_F(ImportedEventsTest, RefusesABlockThatNoAddressSpaceHolds) {
  begin(Addresses::kMadeUp);
  EXPECT_FALSE(malloc(1, uint64_t{1} << 60));
  EXPECT_TRUE(malloc(1, 24));
}

TEST_F(ImportedEventsTest, ThreadsAreNumberedAsTheyComeAndOnceMoreBehindTheirEnd) {
  begin(Addresses::kOfTrace);
  for (const uint64_t thread : {900, 5, 900}) malloc(0x10 * thread, 1, thread);
  events_->end_thread(900);
  malloc(0x20, 1, 900);
  std::vector<uint32_t> threads;
  for (const schema::Event& event : tape()) threads.push_back(event.thread);
  EXPECT_EQ(threads[1], 1u);
  EXPECT_EQ(threads.back(), 2u);
}

// A millisecond is no pause, and a nanosecond more is one. A call without a time, or with an
// earlier one, changes nothing.
TEST_F(ImportedEventsTest, TimesAreOnBothSidesOfEachPause) {
  begin(Addresses::kOfTrace);
  const std::optional<uint64_t> times[] = {5'000'000, 6'000'000,    7'000'001,  9'000'001,
                                           8'999'999, std::nullopt, 10'000'001, 11'000'002};
  for (const auto& time_ns : times) events_->add({.op = Op::kFree, .time_ns = time_ns});
  auto reader = finish();
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.times, (std::vector<schema::TimeSample>{{2, 1'000'000},
                                                          {2, 2'000'001},
                                                          {3, 2'000'001},
                                                          {3, 4'000'001},
                                                          {7, 5'000'001},
                                                          {7, 6'000'002}}));
}

TEST_F(ImportedEventsTest, TimesComeEvery256CallsThoughTheyStandStill) {
  begin(Addresses::kOfTrace);
  for (uint64_t call = 0; call < 600; ++call) {
    std::optional<uint64_t> time_ns = call == 0 ? 10'000'000 : 10'500'000;
    if (call == 256) time_ns = 10'200'000;
    if (call == 300) time_ns.reset();
    events_->add({.op = Op::kFree, .time_ns = time_ns});
  }
  auto reader = finish();
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 1000).ok());
  EXPECT_EQ(batch.times, (std::vector<schema::TimeSample>{{256, 500'000}, {512, 500'000}}));
}

TEST_F(ImportedEventsTest, TimesBeginAtNothingAndNeverGoBack) {
  begin(Addresses::kOfTrace);
  for (const uint64_t time_ns : {5'000'000, 9'000'000, 8'000'000, 20'000'000}) {
    events_->add({.op = Op::kFree, .time_ns = time_ns});
  }
  EXPECT_EQ(events_->duration_ns(), 15'000'000u);
  auto reader = finish();
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.times.front().time_ns, 0u);
  EXPECT_TRUE(std::ranges::is_sorted(batch.times, {}, &schema::TimeSample::time_ns));
}

// Any calls at all: what is on the tape could have been.
TEST_F(ImportedEventsTest, NothingIsHandedOutTwiceWhateverComes) {
  tests::Random random(tests::test_seed());
  for (const Addresses addresses : {Addresses::kOfTrace, Addresses::kMadeUp}) {
    begin(addresses);
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t a = random.below(300) * 16;
      const uint64_t b = random.below(300) * 16;
      if (random.chance(3))
        free(a);
      else if (random.chance(3))
        realloc(a, b, random.below(5000));
      else
        malloc(a, random.below(5000));
    }
    std::set<uint64_t> live;
    for (const schema::Event& event : tape()) {
      const bool keeps = schema::is_failed(event);
      if (event.freed_address != 0 && !keeps) {
        ASSERT_EQ(live.erase(event.freed_address), 1u);
      }
      if (event.address != 0) {
        ASSERT_TRUE(live.insert(event.address).second);
      }
    }
  }
}

}  // namespace
}  // namespace heaptape::recorder
