// Everything that a tape can hold, at the edges of its encodings, comes out as it went in: wherever
// chunks end, wherever parts are saved, in batches of any size, from a finished tape and from one
// that its writer has only saved.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schema/tape/tape_writer.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tape_contents.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::Contents;

// Writes random contents, and remembers them.
class FullTape {
 public:
  FullTape(tests::Random& random, const std::string& path, bool has_stacks)
      : random_(random),
        has_stacks_(has_stacks),
        writer_(std::move(*TapeWriter::create(path, tests::sample_header()))) {
    if (has_stacks) writer_->encoder().set_has_stacks();
  }

  // Chunks may have no events.
  void step() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        return add_time();
      case 3:
        return random_.chance(3) ? flush() : add_end();
      case 4:
        if (random_.chance(4)) return random_.chance(2) ? add_steering() : add_mapping_call();
        return random_.chance(2) ? add_sample() : add_mark();
      case 5:
      case 6:
        if (has_stacks_) return random_.chance(8) ? add_mapping() : add_frame();
        [[fallthrough]];
      default:
        return random_.chance(8) ? append_many() : append();
    }
  }
  void flush() {
    writer_->encoder().set_effort(random_.chance(2) ? Effort::kLow : Effort::kFull);
    writer_->flush();
  }
  void save() { writer_->save(); }
  void finish() { ASSERT_TRUE(writer_->finish({}).ok()); }
  const Contents& contents() const { return contents_; }

 private:
  // The values around which a varint gets another byte, and any others, up to `most_bits`.
  uint64_t edge(uint64_t most_bits = 64) {
    const uint64_t bits = random_.chance(2) ? random_.below(10) * 7 : random_.below(65);
    const uint64_t limit = most_bits == 64 ? UINT64_MAX : (uint64_t{1} << most_bits) - 1;
    const uint64_t power = bits >= 64 ? 0 : uint64_t{1} << bits;
    return (power + random_.below(3) - 1) & limit;
  }
  uint32_t any_thread() {
    constexpr uint32_t kThreads[] = {0, 1, 15, 16, 17, 127, 128, 1 << 14, UINT32_MAX};
    return random_.chance(4) ? kThreads[random_.below(std::size(kThreads))] : 0;
  }
  // Most are multiples of 16, so that not every event ends a chunk.
  uint64_t any_address() {
    if (random_.chance(8)) return 0;
    const uint64_t address =
        random_.chance(3) ? edge(57) : 0x555555559000 + random_.below(1000) * 16;
    return random_.chance(300) ? address : address & ~uint64_t{15};
  }

  Event any_event() {
    Event event = tests::arbitrary_events(random_, 1).front();
    const OpInfo& info = op_info(event.op);
    event.thread = any_thread();
    if (info.kind != OpKind::kRelease) event.size = edge();
    if (info.kind != OpKind::kRelease) event.address = any_address();
    if (info.kind != OpKind::kAllocate) event.freed_address = any_address();
    if (info.aligned) event.alignment = edge();
    return event;
  }
  FrameNumber any_stack_of(const Event& event) {
    const bool has_stack = has_stacks_ && op_info(event.op).kind != OpKind::kRelease;
    return static_cast<FrameNumber>(has_stack ? random_.below(contents_.frames.size() + 1) : 0);
  }
  void append() {
    const Event event = any_event();
    contents_.events.push_back(event);
    contents_.stacks.push_back(any_stack_of(event));
    writer_->append(event, contents_.stacks.back());
  }
  // More than the encoder takes at a time, now and then.
  void append_many() {
    const size_t before = contents_.events.size();
    for (uint64_t i = random_.below(random_.chance(10) ? 700 : 10); i > 0; --i) {
      contents_.events.push_back(any_event());
      contents_.stacks.push_back(any_stack_of(contents_.events.back()));
    }
    writer_->encoder().append(std::span(contents_.events).subspan(before),
                              contents_.stacks.data() + before);
  }
  // Some say nothing new, and some go back.
  void add_time() {
    TimeSample& last = last_time_;
    const TimeSample time = {writer_->events(), last.time_ns + (random_.chance(2) ? 0 : edge(40))};
    writer_->add_time(time.time_ns);
    if (time.time_ns > 0) writer_->add_time(time.time_ns - 1);
    if (time == last) return;
    contents_.times.push_back(time);
    last = time;
  }
  void add_end() {
    contents_.ends.push_back({writer_->events(), any_thread()});
    writer_->add_end(contents_.ends.back().thread);
  }
  void add_sample() {
    ProcessSample sample{writer_->events(), edge(), edge(), {}, {{}, edge(), edge(), edge()}};
    if (random_.chance(2)) sample.parts.malloc_bytes = random_.below(sample.resident_bytes | 1);
    uint64_t rest = sample.resident_bytes - sample.parts.malloc_bytes.value_or(0);
    for (uint64_t i = sample.parts.malloc_bytes ? random_.below(4) : 0; i > 0 && rest != 0; --i) {
      sample.parts.owners.push_back({"lib" + std::to_string(i), 1 + random_.below(rest)});
      rest -= sample.parts.owners.back().bytes;
    }
    uint64_t at = 0x1000;
    for (uint64_t i = random_.below(4); i > 0; --i) {
      sample.regions.push_back({at, at + 0x1000 * (1 + random_.below(3))});
      at = sample.regions.back().end + 0x1000 * random_.below(3);
    }
    writer_->add_sample(sample);
    contents_.samples.push_back(sample);
  }
  void add_steering() {
    constexpr SteeringOp kOps[] = {SteeringOp::kMallopt, SteeringOp::kMallocTrim,
                                   SteeringOp::kThreadCacheBytes};
    SteeringCall call{writer_->events(), any_thread(), kOps[random_.below(std::size(kOps))]};
    call.first = static_cast<int64_t>(edge());
    call.second = static_cast<int64_t>(edge());
    contents_.steering.push_back(call);
    call.event = 0;  // the writer knows
    writer_->add_steering(call);
  }
  void add_mapping_call() {
    MappingCall call;
    call.event = writer_->events();
    call.thread = any_thread();
    call.op = static_cast<MappingOp>(1 + random_.below(6));
    const uint64_t begin = edge(57);
    call.range = {begin, begin + random_.below(base::kAddressLimit - begin)};
    call.detail = edge();
    call.stack = static_cast<FrameNumber>(random_.below(contents_.frames.size() + 1));
    contents_.mapped.push_back(call);
    call.event = 0;  // the writer knows
    writer_->add_mapping_call(call);
  }
  void add_mark() {
    contents_.marks.push_back(
        {writer_->events(), edge(), "mark-" + std::to_string(random_.below(5))});
    writer_->add_mark(contents_.marks.back().name, contents_.marks.back().time_ns);
  }
  void add_frame() {
    const uint64_t frames = contents_.frames.size();
    const uint64_t caller = random_.chance(2) ? frames : random_.below(frames + 1);
    contents_.frames.push_back({static_cast<FrameNumber>(caller), edge(63), random_.chance(2)});
    ASSERT_EQ(writer_->encoder().add_frame(contents_.frames.back()), frames + 1);
  }
  void add_mapping() {
    CodeMapping mapping{
        0, {0x1000, 0x2000}, edge(), "/lib/" + std::to_string(random_.below(9)), "id"};
    if (random_.chance(2)) mapping.function = "f";
    writer_->encoder().add_mapping(mapping);
    mapping.frames = static_cast<FrameNumber>(contents_.frames.size());
    contents_.mappings.push_back(mapping);
  }

  tests::Random& random_;
  const bool has_stacks_;
  std::unique_ptr<TapeWriter> writer_;
  Contents contents_;
  TimeSample last_time_;
};

Contents read_contents(const std::string& path, tests::Random& random) {
  return tests::read_contents(path, [&] { return 1 + random.below(random.chance(2) ? 3 : 300); });
}

// Names the first that differs: there are thousands.
template <typename Value>
void expect_equal(const char* what, const std::vector<Value>& read,
                  const std::vector<Value>& written) {
  const auto first = std::ranges::mismatch(read, written).in1 - read.begin();
  EXPECT_TRUE(read == written) << what << " " << first << " of " << written.size() << ", "
                               << read.size() << " read";
}

void expect_equal(const Contents& read, const Contents& written) {
  expect_equal("event", read.events, written.events);
  expect_equal("stack", read.stacks, written.stacks);
  expect_equal("time", read.times, written.times);
  expect_equal("thread end", read.ends, written.ends);
  expect_equal("steering call", read.steering, written.steering);
  expect_equal("mapping call", read.mapped, written.mapped);
  expect_equal("sample", read.samples, written.samples);
  expect_equal("mark", read.marks, written.marks);
  expect_equal("frame", read.frames, written.frames);
  expect_equal("mapping", read.mappings, written.mappings);
}

class TapeContents : public testing::TestWithParam<bool> {};

TEST_P(TapeContents, ComeOutAsTheyWentIn) {
  tests::SeededRandom random;
  tests::TempDir dir;
  for (int round = 0; round < 8 && !HasFailure(); ++round) {
    FullTape tape(random, dir.file("t"), GetParam());
    for (uint64_t i = random.below(3000); i > 0; --i) {
      tape.step();
      if (random.chance(100)) tape.save();
    }
    tape.finish();
    expect_equal(read_contents(dir.file("t"), random), tape.contents());
  }
}

TEST_P(TapeContents, AreThereWhereTheWriterOnlySavedThem) {
  tests::SeededRandom random;
  tests::TempDir dir;
  for (int round = 0; round < 3 && !HasFailure(); ++round) {
    FullTape tape(random, dir.file(std::to_string(round)), GetParam());
    for (int i = 0; i < 600 && !HasFailure(); ++i) {
      tape.step();
      if (!random.chance(20)) continue;
      tape.save();
      expect_equal(read_contents(dir.file(std::to_string(round) + ".partial"), random),
                   tape.contents());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stacks, TapeContents, testing::Bool(),
                         [](const auto& has) { return has.param ? "With" : "Without"; });

}  // namespace
}  // namespace heaptape::schema
