#include "replayer/sites/call_sites.h"

#include <gtest/gtest.h>

#include "replayer/sites/sample_weight.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

class CallSitesOfATape : public testing::Test {
 protected:
  // Of the calls with these numbers.
  CallSites read(std::vector<uint64_t> calls) const {
    auto tape = schema::TapeReader::open(path_);
    return std::move(*CallSites::read(*tape, sites_, std::move(calls)));
  }
  void write_sampled(uint64_t every_bytes) const {
    tests::write_stack_tape(path_, {schema::StackMode::kUnwindTables, 64, every_bytes});
  }
  // Calls that go by their numbers: those that seven divides are of lex, the others of read.
  void write_long(uint64_t calls) const {
    const auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    ASSERT_TRUE(writer.ok());
    schema::TapeEncoder& encoder = (*writer)->encoder();
    encoder.set_has_stacks();
    for (const uint64_t address : {0x400101, 0x400201, 0x700301, 0x400401}) {
      encoder.add_frame({0, address});
    }
    for (uint64_t call = 1; call <= calls; ++call) {
      encoder.append(tests::malloc_event(call, 0x10000 * call), call % 7 == 0 ? 2 : 4);
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
  }
  std::string function_of(const CallSites& calls, uint64_t call) const {
    const Site& site = sites_.list()[calls.of_call(call)];
    return site.source == nullptr ? "" : site.source->function;
  }

  tests::TempDir dir_;
  const std::string path_ = dir_.file("a.tape");
  Symbols symbols_ = tests::sample_symbols();
  Sites sites_{tests::sample_stacks(), symbols_, {}};
};

TEST_F(CallSitesOfATape, AreThoseOfItsStacks) {
  tests::write_stack_tape(path_);
  const CallSites calls = read({4, 2, 4, 6});
  EXPECT_EQ(function_of(calls, 2), "read");
  EXPECT_EQ(function_of(calls, 4), "lex");
  EXPECT_EQ(calls.of_call(6), Sites::kNone);
  EXPECT_EQ(calls.weight_of(6), 1);
}

TEST_F(CallSitesOfATape, AreOfNoCallThatItDoesNotHave) {
  tests::write_stack_tape(path_);
  const CallSites calls = read({0, 1, 8, UINT64_MAX});
  EXPECT_EQ(function_of(calls, 1), "lex");
  for (const uint64_t call : {uint64_t{0}, uint64_t{3}, uint64_t{8}, UINT64_MAX}) {
    EXPECT_EQ(calls.of_call(call), Sites::kNone) << call;
  }
}

// Calls far apart, of which each may be the first or the last of a chunk.
TEST_F(CallSitesOfATape, AreFoundHoweverFarApartTheCallsAre) {
  constexpr uint64_t kChunk = 65'536;
  constexpr uint64_t kEnd = 4 * kChunk;
  write_long(kEnd);
  for (const uint64_t first : {uint64_t{1}, uint64_t{7}, kChunk}) {
    for (uint64_t call = 2 * kChunk - 2; call <= 2 * kChunk + 9; ++call) {
      const CallSites calls = read({first, call, kEnd});
      for (const uint64_t one : {first, call, kEnd}) {
        ASSERT_EQ(function_of(calls, one), one % 7 == 0 ? "lex" : "read") << one;
      }
    }
  }
}

TEST_F(CallSitesOfATape, StandForAsManyCallsAsTheirSizesSay) {
  write_sampled(1000);
  const CallSites calls = read({1, 3, 4});
  EXPECT_EQ(calls.weight_of(1), SampleWeight(1000).of(100));
  EXPECT_EQ(calls.weight_of(3), SampleWeight(1000).of(7));
  EXPECT_EQ(calls.weight_of(4), SampleWeight(1000).of(300));
}

TEST_F(CallSitesOfATape, StandForNoneWhereTheStackWasNotChosen) {
  write_sampled(1000);
  const CallSites calls = read({1, 6});
  EXPECT_EQ(calls.weight_of(6), 0);
  EXPECT_EQ(calls.text(6), kNotSampled);
  EXPECT_NE(calls.text(1), kNotSampled);
}

}  // namespace
}  // namespace heaptape::replayer
