// Tapes that have the heap at some of their calls, on the command line.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "schema/tape/keyframe.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::Ended;
using tests::run;

class Keyframes : public testing::Test {
 protected:
  std::string explain(const std::string& tape, const std::string& at,
                      const std::string& spec = "recorded") const {
    const Ended ended = run({"heaptape", "explain", "-a", spec, "--at", at, dir_.file(tape)});
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.out.substr(ended.out.find('\n'));  // behind the line that names the tape
  }

  std::string sites(const std::string& tape, const std::string& at) const {
    const Ended ended =
        run({"heaptape", "stats", "--by", "site", "--sort", "pinned", "--at", at, dir_.file(tape)});
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.out;
  }

  // Whose heap is sampled every 10,000 calls. Blocks have one of three stacks.
  void write(uint64_t calls, uint64_t late_ns = 0) const {
    const auto writer =
        std::move(*schema::TapeWriter::create(dir_.file("a.tape"), tests::sample_header()));
    writer->encoder().set_has_stacks();
    for (uint64_t i = 0; i < 3; ++i) writer->encoder().add_frame({.return_address = 0x4000 + i});
    const uint64_t begin = tests::sample_header().initial_break;
    uint64_t end = begin;
    tests::Random random(3);
    for (const schema::Event& event : tests::plausible_events(random, calls)) {
      writer->append(event, event.address == 0 ? 0 : 1 + event.size % 3);
      end = std::max(end, (event.address + event.size + 4095) / 4096 * 4096);
      if (writer->events() % 10'000 == 0) writer->add_sample({0, 0, end - begin, {{begin, end}}});
    }
    schema::TapeSummary summary;
    summary.late_ns = late_ns;
    ASSERT_TRUE(writer->finish(summary).ok());
  }

  tests::TempDir dir_;
};

TEST_F(Keyframes, OfPackedTapesAreWhereExplanationsBegin) {
  constexpr uint64_t kFirst = uint64_t{1} << 21;
  write(kFirst + 100'000);
  ASSERT_EQ(run({"heaptape", "pack", dir_.file("a.tape"), "-o", dir_.file("b.tape")}).status, 0);
  const Ended info = run({"heaptape", "info", dir_.file("b.tape")});
  EXPECT_NE(info.out.find("keyframes  1, the first after 2,100,000 calls"), std::string::npos)
      << info.out;
  EXPECT_NE(run({"heaptape", "info", "--json", dir_.file("b.tape")}).out.find("\"keyframes\": 1"),
            std::string::npos);
  EXPECT_EQ(run({"heaptape", "verify", dir_.file("b.tape")}).status, 0);

  const std::string whole = explain("a.tape", "#2150000");
  const std::string from_keyframe = explain("b.tape", "#2150000");
  const size_t growths = whole.find("the largest growths");
  ASSERT_NE(growths, std::string::npos);
  EXPECT_EQ(from_keyframe.substr(0, growths), whole.substr(0, growths));
  EXPECT_NE(from_keyframe.find("are of calls #2,100,001 on"), std::string::npos) << from_keyframe;
  EXPECT_EQ(whole.find("keyframe"), std::string::npos);
  for (const char* const spec : {"recorded", "model:ptmalloc"}) {
    EXPECT_EQ(explain("b.tape", "#1000", spec), explain("a.tape", "#1000", spec)) << "before it";
  }
  EXPECT_EQ(explain("b.tape", "#2150000", "model:ptmalloc"),
            explain("a.tape", "#2150000", "model:ptmalloc"));
  EXPECT_EQ(sites("b.tape", "#2150000"), sites("a.tape", "#2150000"));
}

// What was there before it began is known from its first sample.
TEST_F(Keyframes, AreNotOnALateTape) {
  write(uint64_t{1} << 21, 1);
  ASSERT_EQ(run({"heaptape", "pack", dir_.file("a.tape"), "-o", dir_.file("b.tape")}).status, 0);
  EXPECT_EQ(run({"heaptape", "info", dir_.file("b.tape")}).out.find("keyframes"),
            std::string::npos);
}

TEST_F(Keyframes, ThatAreWrongAreFoundByVerify) {
  for (const uint64_t size : {8, 9}) {
    const auto writer =
        std::move(*schema::TapeWriter::create(dir_.file("a.tape"), tests::sample_header()));
    const schema::Stacks none;
    schema::KeyframeWriter keyframes(*writer, none, {.calls = 2, .most_percent = 10'000});
    for (const uint64_t address : {0x1000, 0x2000, 0x3000}) {
      writer->append(tests::malloc_event(8, address));
      keyframes.note(tests::malloc_event(size, address), 0);
      keyframes.note(schema::ProcessSample());
    }
    ASSERT_TRUE(writer->finish({}).ok());
    const Ended verified = run({"heaptape", "verify", dir_.file("a.tape")});
    EXPECT_EQ(verified.status, size == 8 ? 0 : 1);
    const bool is_named =
        verified.out.find("the keyframe after 2 calls is not what these calls left") !=
        std::string::npos;
    EXPECT_EQ(is_named, size != 8) << verified.out;
  }
}

}  // namespace
}  // namespace heaptape
