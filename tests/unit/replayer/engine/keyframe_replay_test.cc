// A heap explained from a keyframe on is that of the whole replay.
#include <gtest/gtest.h>

#include "replayer/answers/pins.h"
#include "replayer/engine/explain.h"
#include "replayer/sites/call_stacks.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kCalls = 40'000;
constexpr size_t kBetween = 10'000;
constexpr size_t kPerSample = 500;
constexpr uint64_t kChunkBytes = 32;  // the least of glibc
constexpr uint64_t kStepNs = 1'000'000;

class KeyframeReplayTest : public testing::Test {
 protected:
  KeyframeReplayTest() {
    tests::Random random(tests::test_seed());
    events_ = tests::eventful_events(random, kCalls, kChunkBytes);
    events_.resize(kCalls);
    // So that no block reaches into the next one.
    for (schema::Event& event : events_) {
      event.alignment = 0;
      if (event.address != 0 && event.address == event.freed_address && event.size > 1)
        --event.size;
    }
    write("whole.tape", false);
    write("seek.tape", true);
  }

  void write(const std::string& name, bool has_keyframes) {
    schema::TapeHeader header = tests::sample_header();
    header.recorded_allocator = {.family = "glibc", .version = "2.36", .libc = "2.36"};
    header.stacks.mode = schema::StackMode::kUnwindTables;
    const auto tape = std::move(*schema::TapeWriter::create(dir_.file(name), header));
    tape->encoder().set_has_stacks();
    schema::Stacks frames;
    schema::KeyframeWriter keyframes(*tape, frames, {.calls = kBetween, .most_percent = 100});
    uint64_t end = header.initial_break;
    for (size_t i = 0; i < kCalls; ++i) {
      const schema::Event& event = events_[i];
      if (i % 100 == 0) {
        const schema::Frame frame{.caller = 0, .return_address = 0x400000 + i};
        frames.add_frames(tape->encoder().add_frame(frame) - 1, {&frame, 1});
      }
      const schema::FrameNumber stack = event.address == 0 ? 0 : frames.limit() - 1;
      tape->append(event, stack);
      if (has_keyframes) keyframes.note(event, stack);
      tape->add_time((i + 1) * kStepNs);
      end = std::max(end, (event.address + event.size + 8191) / 4096 * 4096);
      if (i % kPerSample == 0) {
        const schema::ProcessSample sample{
            i + 1, (i + 1) * kStepNs, end - header.initial_break, {{header.initial_break, end}}};
        tape->add_sample(sample);
        if (has_keyframes) keyframes.note(sample);
      }
    }
    schema::TapeSummary summary;
    summary.duration_ns = kCalls * kStepNs;
    ASSERT_TRUE(tape->finish(summary).ok());
  }
  schema::TapeReader open(const std::string& name) const {
    return std::move(*schema::TapeReader::open(dir_.file(name)));
  }
  struct Explained {
    uint64_t from = 0;  // the keyframe; 0: it began at the first call
    Explanation explanation;
  };
  Explained explain(const std::string& name, const std::string& at,
                    const std::string& spec = "recorded") const {
    auto tape = open(name);
    ExplainOptions options{.spec = *allocators::parse_spec(spec), .at = *parse_moment(at)};
    auto found = find_explained(tape, options, nullptr);
    EXPECT_TRUE(found.ok());
    const uint64_t from = found->keyframe ? found->keyframe->event : 0;
    auto explanation = replayer::explain(tape, options, std::move(*found), nullptr);
    EXPECT_TRUE(explanation.ok()) << explanation.error().message;
    return {from, std::move(*explanation)};
  }
  static void expect_same(const Explanation& one, const Explanation& other) {
    EXPECT_EQ(one.moment.event, other.moment.event);
    EXPECT_EQ(one.moment.time_ns, other.moment.time_ns);
    const auto& blocks = one.run.picture->blocks;
    const auto& others = other.run.picture->blocks;
    ASSERT_EQ(blocks.size(), others.size());
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_EQ(blocks[i].address, others[i].address);
      EXPECT_EQ(blocks[i].usable_bytes, others[i].usable_bytes);
      // A replay asks for a byte where a resize to nothing kept the block.
      EXPECT_EQ(std::max<uint64_t>(1, blocks[i].requested_bytes),
                std::max<uint64_t>(1, others[i].requested_bytes));
      EXPECT_EQ(blocks[i].birth, others[i].birth);
      EXPECT_EQ(blocks[i].thread, others[i].thread);
    }
    EXPECT_EQ(one.run.picture->regions, other.run.picture->regions);
    EXPECT_EQ(one.run.picture->resident_bytes, other.run.picture->resident_bytes);
    EXPECT_EQ(one.state().account->committed_bytes, other.state().account->committed_bytes);
    EXPECT_EQ(one.state().account->hole_bytes, other.state().account->hole_bytes);
    EXPECT_EQ(one.state().snapshot.live.live_bytes, other.state().snapshot.live.live_bytes);
    EXPECT_EQ(one.state().snapshot.live.live_count, other.state().snapshot.live.live_count);
    EXPECT_EQ(one.state().snapshot.usable_bytes, other.state().snapshot.usable_bytes);
    EXPECT_EQ(pinning_blocks(*one.run.picture).size(), pinning_blocks(*other.run.picture).size());
  }

  tests::TempDir dir_;
  std::vector<schema::Event> events_;
};

TEST_F(KeyframeReplayTest, IsThatOfTheWholeTape) {
  for (const char* const at :
       {"#9999", "#10001", "#10002", "#10100", "#19999", "#20002", "#20400", "#25501", "#40000"}) {
    SCOPED_TRACE(at);
    const Explained whole = explain("whole.tape", at);
    const Explained from_keyframe = explain("seek.tape", at);
    EXPECT_EQ(whole.from, 0u);
    const uint64_t call = std::stoull(at + 1);
    const uint64_t before = (call - 2) / kBetween * kBetween;
    EXPECT_EQ(from_keyframe.from, before == 0 ? 0 : before + 1) << "behind the sample";
    expect_same(from_keyframe.explanation, whole.explanation);
  }
}

TEST_F(KeyframeReplayTest, IsAlsoThatOfATime) {
  for (const char* const at : {"10.6s", "25500ms", "39.9s"}) {
    SCOPED_TRACE(at);
    const Explained from_keyframe = explain("seek.tape", at);
    EXPECT_NE(from_keyframe.from, 0u);
    expect_same(from_keyframe.explanation, explain("whole.tape", at).explanation);
  }
}

TEST_F(KeyframeReplayTest, SaysWhatItDoesNotKnow) {
  const auto notes = explain("seek.tape", "#20500").explanation.run.notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("of calls #20,002 on") != std::string::npos &&
           note.find("keyframe") != std::string::npos;
  }));
}

// Other allocators would place the blocks elsewhere, and what is looked for in all calls has read
// them.
TEST_F(KeyframeReplayTest, IsOnlyForTheRecordedAllocatorAtANamedCall) {
  EXPECT_EQ(explain("seek.tape", "#25000", "model:ptmalloc").from, 0u);
  EXPECT_EQ(explain("seek.tape", "exit").from, 0u);
  EXPECT_EQ(explain("seek.tape", "end").from, 0u);
}

TEST_F(KeyframeReplayTest, KnowsTheStacksOfItsBlocks) {
  auto tape = open("seek.tape");
  const auto keyframe = tape.read_keyframe(25'000);
  ASSERT_TRUE(keyframe.ok() && *keyframe);
  std::vector<uint64_t> calls = (*keyframe)->births;
  calls.push_back(20'777);
  const auto whole = CallStacks::read(tape, calls);
  const auto from_keyframe = CallStacks::read(tape, calls, &**keyframe);
  ASSERT_TRUE(whole.ok() && from_keyframe.ok());
  for (const uint64_t call : calls) {
    ASSERT_NE(whole->find(call), nullptr);
    ASSERT_NE(from_keyframe->find(call), nullptr);
    EXPECT_EQ(whole->find(call)->stack, from_keyframe->find(call)->stack) << call;
    EXPECT_EQ(whole->find(call)->weight, from_keyframe->find(call)->weight) << call;
  }
}

}  // namespace
}  // namespace heaptape::replayer
