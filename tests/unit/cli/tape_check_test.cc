#include "cli/tape_check.h"

#include <gtest/gtest.h>

#include <fstream>

#include "schema/tape/keyframe.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

using schema::TapeReader;
using schema::TapeWriter;

constexpr uint64_t kCalls = 3 << 20;
constexpr uint64_t kPerChunk = 40'000;

// Each tape is read in one part, and in several.
class TapeCheckTest : public testing::Test {
 protected:
  struct Wanted {
    bool has_keyframes = false;
    uint64_t wrong_keyframe = 0;  // 0: none
    uint64_t thread_ends = 0;     // thread 1, after so many calls; 0: never
  };
  // Chunks without calls stand among the others.
  void write(const Wanted& wanted) const {
    const auto tape = std::move(*TapeWriter::create(path_, tests::sample_header()));
    const schema::Stacks none;
    constexpr uint64_t kBetween = 1 << 19;
    schema::KeyframeWriter keyframes(*tape, none, {.calls = kBetween, .most_percent = 1000});
    for (uint64_t i = 0; i < kCalls; ++i) {
      const uint64_t address = 0x10000 + 16 * (i / 2 % 1000);
      const auto thread = static_cast<uint32_t>(i / 100 % 3);
      schema::Event event =
          i % 2 == 0 ? tests::malloc_event(8, address, thread) : tests::free_event(address, thread);
      if (i % 1000 == 999) event = tests::malloc_event(9, 0x1000000 + 16 * i, thread);
      tape->append(event);
      if (i + 1 == wanted.wrong_keyframe) event = tests::malloc_event(7, 0x500000, thread);
      if (wanted.has_keyframes) {
        keyframes.note(event, 0);
        if ((i + 1) % kBetween == 0) keyframes.note(schema::ProcessSample());
      }
      if (i % kPerChunk == 0) {
        tape->flush();
        if (i + 1 == wanted.thread_ends) tape->add_end(1);
        tape->add_mark("m", i);
        tape->flush();
      }
    }
    ASSERT_TRUE(tape->finish({}).ok());
  }
  TapeCheck check(size_t threads) const {
    auto tape = TapeReader::open(path_, schema::OnDamage::kSkip, schema::Inherited::kLeaveOut);
    EXPECT_TRUE(tape.ok());
    double share = 0;
    const auto result = check_tape(*tape, threads, [&](double now) {
      EXPECT_GE(now, share);
      share = now;
    });
    EXPECT_TRUE(result.ok()) << result.error().message;
    return *result;
  }
  void flip_byte_at(uint64_t offset) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x10));
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("a.tape");
};

TEST_F(TapeCheckTest, CountsAllCallsOfASoundTape) {
  for (const bool has_keyframes : {false, true}) {
    write({.has_keyframes = has_keyframes});
    for (const size_t threads : {1, 2, 5, 1000}) {
      const TapeCheck all = check(threads);
      EXPECT_EQ(all.events, kCalls);
      EXPECT_TRUE(all.damages.empty());
      EXPECT_EQ(all.calls_after_end, 0u);
      EXPECT_FALSE(all.wrong_keyframe);
    }
  }
}

// In whichever part the thread ended: the end stands in a chunk without calls.
TEST_F(TapeCheckTest, FindsCallsOfThreadsThatHadEnded) {
  for (const uint64_t end : {uint64_t{1}, 20 * kPerChunk + 1, 70 * kPerChunk + 1}) {
    write({.thread_ends = end});
    uint64_t calls = 0;
    uint64_t first = 0;
    for (uint64_t i = end; i < kCalls; ++i) {
      if (i / 100 % 3 == 1 && calls++ == 0) first = i + 1;
    }
    for (const size_t threads : {1, 2, 6}) {
      const TapeCheck all = check(threads);
      EXPECT_EQ(all.calls_after_end, calls) << end;
      EXPECT_EQ(all.first_after_end, first) << end;
    }
  }
}

TEST_F(TapeCheckTest, FindsAWrongKeyframe) {
  for (const uint64_t wrong : {uint64_t{1} << 19, uint64_t{3} << 19, uint64_t{6} << 19}) {
    write({.has_keyframes = true, .wrong_keyframe = wrong});
    for (const size_t threads : {1, 2, 6}) {
      EXPECT_EQ(check(threads).wrong_keyframe, std::optional(wrong));
    }
  }
}

// Also where chunks on both sides of a place between parts are damaged.
TEST_F(TapeCheckTest, ListsEachDamageOnce) {
  write({});
  const auto offset_of = [this](size_t chunk) {
    return TapeReader::open(path_)->chunks()[chunk].offset + 40;
  };
  const size_t chunks = TapeReader::open(path_)->chunks().size();
  std::vector<uint64_t> offsets;
  for (size_t chunk = 20; chunk + 20 < chunks; chunk += chunk % 3 == 0 ? 1 : 7) {
    offsets.push_back(offset_of(chunk));
  }
  for (const uint64_t offset : offsets) flip_byte_at(offset);
  const TapeCheck one = check(1);
  ASSERT_EQ(one.damages.size(), offsets.size());
  EXPECT_LT(one.events, kCalls);
  for (const size_t threads : {2, 3, 6}) {
    const TapeCheck some = check(threads);
    EXPECT_EQ(some.events, one.events);
    ASSERT_EQ(some.damages.size(), one.damages.size());
    for (size_t i = 0; i < one.damages.size(); ++i) {
      EXPECT_EQ(some.damages[i].offset, one.damages[i].offset);
      EXPECT_EQ(some.damages[i].lost_events, one.damages[i].lost_events);
    }
  }
}

}  // namespace
}  // namespace heaptape::cli
