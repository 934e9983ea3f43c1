#include "replayer/engine/tape_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "replayer/engine/replay.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

TEST(ParseMoment, TakesTheNamesOfMoments) {
  for (const char* const name : {"peak", "plateau", "exit", "end"}) {
    EXPECT_EQ(parse_moment(name)->name, name);
    EXPECT_EQ(parse_moment(name)->kind, MomentRequest::Kind::kFound);
  }
}

TEST(ParseMoment, TakesCalls) {
  for (const char* const text : {"#1500", "1500", "1,500", "#1,500", "1.5k"}) {
    EXPECT_EQ(parse_moment(text)->event, 1500u) << text;
    EXPECT_EQ(parse_moment(text)->name, "#1500") << text;
  }
}

TEST(ParseMoment, TakesTimes) {
  EXPECT_EQ(parse_moment("12.5s")->time_ns, 12'500'000'000u);
  EXPECT_EQ(parse_moment("800ms")->time_ns, 800'000'000u);
}

TEST(ParseMoment, RefusesWhatIsNeither) {
  for (const char* const text :
       {"", "#", "s", "plato", "-1", "1.5", "-1s", "nans", "1e99s", "#1s"}) {
    EXPECT_FALSE(parse_moment(text).ok()) << text;
  }
}

TEST(ParseMoment, TakesMarks) {
  EXPECT_EQ(parse_moment("mark:load")->kind, MomentRequest::Kind::kMark);
  EXPECT_EQ(parse_moment("mark:load")->name, "mark:load");
  EXPECT_FALSE(parse_moment("mark:").ok());
}

class MarksOfATape : public testing::Test {
 protected:
  // A block and a mark for each name.
  schema::TapeReader tape(const std::vector<std::string>& names) {
    auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    for (size_t i = 0; i < names.size(); ++i) {
      (*writer)->append(tests::malloc_event(100, 0x10000 + 128 * i));
      (*writer)->add_mark(names[i], 1000 * (i + 1));
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
    return std::move(*schema::TapeReader::open(path_));
  }
  static base::Result<Moment> find(schema::TapeReader& tape, const std::string& name) {
    return find_moment(tape, *parse_moment(name), {});
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("m.tape");
};

TEST_F(MarksOfATape, AreMoments) {
  auto marked = tape({"load", "drop"});
  EXPECT_EQ(*find(marked, "mark:load"), (Moment{"mark:load", 1, 1000}));
  const auto moments = find_moments(marked, UINT64_MAX, {});
  EXPECT_EQ(std::ranges::count(*moments, Moment{"mark:load", 1, 1000}), 1);
  EXPECT_EQ(std::ranges::count(*moments, Moment{"mark:drop", 2, 2000}), 1);
}

class SampledTape : public MarksOfATape {
 protected:
  static constexpr uint64_t kMs = 1'000'000;
  // A block and a sample for each, of so many bytes, of which half are malloc's; and a mark behind.
  schema::TapeReader sampled(const std::vector<uint64_t>& bytes) {
    auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    for (const uint64_t all : bytes) {
      (*writer)->append(tests::malloc_event(16, 0x10000 + 32 * (*writer)->events()));
      (*writer)->add_time(kMs * (*writer)->events());
      (*writer)->add_sample({0, kMs * (*writer)->events(), all, {}, {all / 2, 3, 4, 5}});
    }
    (*writer)->append(tests::malloc_event(16, 0x10000 + 32 * (*writer)->events()));
    (*writer)->add_mark("late", 5 * kMs);
    EXPECT_TRUE((*writer)->finish({}).ok());
    return std::move(*schema::TapeReader::open(path_));
  }
};

TEST_F(SampledTape, HasTheProcessAtEachMoment) {
  auto tape = sampled({8192, 4096});
  const schema::ProcessSample last{2, 2 * kMs, 4096, {}, {2048, 3, 4, 5}};
  for (const char* const name : {"peak", "exit", "end", "mark:late", "#3", "#2", "1.6ms"}) {
    EXPECT_EQ(find(tape, name)->process, last) << name;
  }
  for (const char* const name : {"#1", "1.5ms"}) {  // as near to both
    EXPECT_EQ(find(tape, name)->process,
              (schema::ProcessSample{1, kMs, 8192, {}, {4096, 3, 4, 5}}));
  }
  const auto moments = find_moments(tape, UINT64_MAX, {});
  for (const Moment& moment : *moments) EXPECT_EQ(moment.process, last) << moment.name;
  EXPECT_EQ(find_moments(tape, 1, {})->back().process->resident_bytes, 8192u);
}

TEST_F(SampledTape, HasTheProcessOverTime) {
  auto tape = sampled({8192, 4096, 16384});
  std::vector<schema::ProcessSample> samples;
  ASSERT_TRUE(find_moments(tape, 2, {}, &samples).ok());
  EXPECT_EQ(samples, (std::vector<schema::ProcessSample>{{1, kMs, 8192, {}, {4096, 3, 4, 5}},
                                                         {2, 2 * kMs, 4096, {}, {2048, 3, 4, 5}}}));
}

TEST_F(SampledTape, HasTheHighestOfManySamplesInARow) {
  std::vector<uint64_t> bytes(3 * kMostProcessSamples, 4096);
  bytes[4] = 8192;
  auto tape = sampled(bytes);
  std::vector<schema::ProcessSample> samples;
  ASSERT_TRUE(find_moments(tape, UINT64_MAX, {}, &samples).ok());
  ASSERT_EQ(samples.size(), kMostProcessSamples);
  EXPECT_EQ(samples[0].event, 1u);
  EXPECT_EQ(samples[1].event, 5u);
  EXPECT_EQ(samples[1].resident_bytes, 8192u);
  EXPECT_EQ(samples.back().event, 3 * kMostProcessSamples - 2);
}

// A program that makes no calls grows beside malloc.
TEST_F(SampledTape, HasTheNearestOfManySamplesBetweenTwoCalls) {
  auto writer = schema::TapeWriter::create(path_, tests::sample_header());
  (*writer)->append(tests::malloc_event(16, 0x10000));
  (*writer)->add_time(kMs);
  for (uint64_t ms = 2; ms <= 9; ++ms) {
    (*writer)->add_sample({0, ms * kMs, ms << 20, {}, {4096, 0, 0, 0}});
    if (ms == 4) (*writer)->add_mark("early", 4 * kMs + 1);
  }
  (*writer)->append(tests::free_event(0x10000));
  (*writer)->add_time(10 * kMs);
  (*writer)->add_sample({0, 11 * kMs, 11 << 20, {}, {4096, 0, 0, 0}});
  schema::TapeSummary summary;
  summary.duration_ns = 11 * kMs;
  ASSERT_TRUE((*writer)->finish(summary).ok());
  auto tape = std::move(*schema::TapeReader::open(path_));
  const auto mib = [&tape](const char* name) {
    return find(tape, name)->process->resident_bytes >> 20;
  };
  EXPECT_EQ(mib("mark:early"), 4u);
  EXPECT_EQ(mib("#1"), 2u);
  EXPECT_EQ(mib("6.6ms"), 7u);
  EXPECT_EQ(mib("9.9ms"), 9u);
  EXPECT_EQ(mib("end"), 11u);
}

// The one behind the peak is nearer, and the backend has it only later.
TEST_F(SampledTape, TellsWhatTheRecordedRunHasResidentAtAMoment) {
  auto writer = schema::TapeWriter::create(path_, tests::sample_header());
  const auto call = [&writer](const schema::Event& event, uint64_t time_ns) {
    (*writer)->append(event);
    (*writer)->add_time(time_ns);
  };
  call(tests::malloc_event(16, 0x10000), kMs);
  (*writer)->add_sample({0, kMs, 8192, {}, {4096, 0, 0, 0}});
  call(tests::malloc_event(5000, 0x10020), 9 * kMs);
  call(tests::free_event(0x10020), 10 * kMs);
  (*writer)->add_sample({0, 10 * kMs, 32'768, {}, {16'384, 0, 0, 0}});
  schema::TapeSummary summary;
  summary.duration_ns = 10 * kMs;
  ASSERT_TRUE((*writer)->finish(summary).ok());
  auto tape = std::move(*schema::TapeReader::open(path_));
  ReplayOptions options;
  options.specs = {*allocators::parse_spec("recorded")};
  options.moments = *find_moments(tape, UINT64_MAX, {});
  const auto runs = replay(tape, options, {});
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  const auto& moments = runs->at(0).metrics.moments;
  const auto peak = std::ranges::find(
      moments, "peak",
      [](const MomentState& state) -> const std::string& { return state.moment.name; });
  ASSERT_NE(peak, moments.end());
  EXPECT_EQ(peak->moment.event, 2u);
  EXPECT_EQ(peak->snapshot.resident_bytes, 16'384u);
  EXPECT_EQ(runs->at(0).metrics.resident_bytes_peak.value, 16'384u);
}

TEST_F(SampledTape, HasTheFirstSampleBeforeIt) {
  auto tape = sampled({8192});
  EXPECT_EQ(find(tape, "#0")->process->resident_bytes, 8192u);
  EXPECT_EQ(find(tape, "0s")->process->resident_bytes, 8192u);
}

TEST_F(SampledTape, HasNoProcessWithoutSamples) {
  auto unsampled = sampled({});
  EXPECT_FALSE(find(unsampled, "end")->process);
  EXPECT_FALSE(find_moments(unsampled, UINT64_MAX, {})->back().process);
}

// However many calls lie between.
TEST_F(SampledTape, FindsASampleFarFromTheMoment) {
  auto writer = schema::TapeWriter::create(path_, tests::sample_header());
  (*writer)->append(tests::malloc_event(16, 0x10000));
  (*writer)->add_sample({0, 1000, 4096, {}, {}});
  for (uint64_t i = 1; i < 50'000; ++i) {
    (*writer)->append(tests::malloc_event(16, 0x10000 + 32 * i));
  }
  ASSERT_TRUE((*writer)->finish({}).ok());
  auto tape = std::move(*schema::TapeReader::open(path_));
  EXPECT_EQ(find(tape, "end")->process, (schema::ProcessSample{1, 1000, 4096, {}, {}}));
}

TEST_F(MarksOfATape, OfOneNameAreTheLastOfThem) {
  auto marked = tape({"turn", "other", "turn"});
  EXPECT_EQ(find(marked, "mark:turn")->event, 3u);
  const auto moments = find_moments(marked, UINT64_MAX, {});
  EXPECT_EQ(std::ranges::count(*moments, "mark:turn", &Moment::name), 1);
  EXPECT_EQ(std::ranges::find(*moments, "mark:turn", &Moment::name)->event, 3u);
}

TEST_F(MarksOfATape, CountAsFarAsTheReplayGoes) {
  auto marked = tape({"turn", "turn", "later"});
  const auto moments = find_moments(marked, 1, {});
  EXPECT_EQ(std::ranges::find(*moments, "mark:turn", &Moment::name)->event, 1u);
  EXPECT_EQ(std::ranges::count(*moments, "mark:later", &Moment::name), 0);
}

TEST_F(MarksOfATape, AreInAReportUpToALimit) {
  std::vector<std::string> names;
  for (size_t i = 0; i < 2 * kMostMarks; ++i) names.push_back(std::to_string(i));
  auto marked = tape(names);
  const auto moments = find_moments(marked, UINT64_MAX, {});
  EXPECT_EQ(std::ranges::count_if(
                *moments, [](const Moment& moment) { return moment.name.starts_with("mark:"); }),
            static_cast<ptrdiff_t>(kMostMarks));
  EXPECT_EQ(find(marked, "mark:" + names.back())->event, names.size());
}

TEST_F(MarksOfATape, AreNamedToWhoAsksForAnother) {
  auto marked = tape({"load", "drop"});
  const std::string message = find(marked, "mark:lode").error().message;
  EXPECT_NE(message.find("did you mean mark:load?"), std::string::npos) << message;
  EXPECT_NE(message.find("its marks are mark:load, mark:drop"), std::string::npos) << message;
  auto unmarked = tape({});
  EXPECT_NE(find(unmarked, "mark:a").error().message.find("has no marks"), std::string::npos);
}

// A block, then one more, which is freed, and the end of the first.
class MomentsOfATape : public testing::Test {
 protected:
  schema::TapeReader tape(const std::vector<schema::Event>& events) {
    tests::write_tape(path_, events);
    return std::move(*schema::TapeReader::open(path_));
  }
  std::vector<schema::Event> events(size_t kept, size_t freed) {
    std::vector<schema::Event> events;
    for (size_t i = 0; i < kept + freed; ++i) {
      events.push_back(tests::malloc_event(100, 0x10000 + 128 * i));
    }
    for (size_t i = 0; i < freed; ++i) events.push_back(tests::free_event(0x10000 + 128 * i));
    return events;
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("m.tape");
};

TEST_F(MomentsOfATape, AreInTheOrderOfCalls) {
  auto reader = tape(events(10, 990));
  const auto moments = find_moments(reader, UINT64_MAX, nullptr);
  ASSERT_TRUE(moments.ok());
  ASSERT_EQ(moments->size(), 3u);
  EXPECT_EQ((*moments)[0], (Moment{"peak", 1000}));
  EXPECT_EQ((*moments)[1], (Moment{"exit", 1000}));
  EXPECT_EQ((*moments)[2], (Moment{"end", 1990}));
}

TEST_F(MomentsOfATape, HaveTheTimesOfTheTape) {
  schema::TapeSummary summary;
  summary.duration_ns = 3'000'000;
  auto writer = schema::TapeWriter::create(path_, tests::sample_header());
  (*writer)->add_time(10'000);
  for (const schema::Event& event : events(0, 1000)) (*writer)->append(event);
  (*writer)->add_time(2'010'000);
  EXPECT_TRUE((*writer)->finish(summary).ok());
  auto reader = std::move(*schema::TapeReader::open(path_));
  const auto moments = find_moments(reader, UINT64_MAX, nullptr);
  ASSERT_TRUE(moments.ok());
  EXPECT_EQ(moments->front(), (Moment{"peak", 1000, 1'010'000}));
  EXPECT_EQ(moments->back(), (Moment{"end", 2000, 2'010'000}));
  EXPECT_EQ(find_moment(reader, *parse_moment("#1000"), nullptr)->time_ns, 1'010'000u);
}

TEST_F(MomentsOfATape, AreThoseOfTheFirstCallsAlone) {
  auto reader = tape(events(10, 990));
  const auto moments = find_moments(reader, 500, nullptr);
  EXPECT_EQ(moments->back().event, 500u);
  EXPECT_EQ(moments->front().event, 500u);
}

// The program allocates, then frees all but ten blocks; when so many calls had been made, so many
// milliseconds had passed.
class PausesOfATape : public MomentsOfATape {
 protected:
  uint64_t exit_with(size_t blocks, const std::vector<std::pair<uint64_t, uint64_t>>& times) {
    auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    uint64_t calls = 0;
    auto time = times.begin();
    for (const schema::Event& event : events(10, blocks)) {
      (*writer)->append(event);
      for (++calls; time != times.end() && time->first == calls; ++time) {
        (*writer)->add_time(time->second * 1'000'000);
      }
    }
    EXPECT_TRUE((*writer)->finish({}).ok());
    auto reader = std::move(*schema::TapeReader::open(path_));
    const auto moments = find_moments(reader, UINT64_MAX, {});
    return std::ranges::find(*moments, "exit", &Moment::name)->event;
  }
};

TEST_F(PausesOfATape, EndATeardown) {
  EXPECT_EQ(exit_with(3000, {{3500, 10}, {3500, 200}}), 3500u);
  EXPECT_EQ(exit_with(3000, {{3500, 10}, {3500, 60}}), 3010u) << "a short one does not";
}

TEST_F(PausesOfATape, AreNoSlowStretchesOfManyCalls) {
  EXPECT_EQ(exit_with(3000, {{3500, 10}, {3501, 200}}), 3500u);
  EXPECT_EQ(exit_with(3000, {{3500, 10}, {5500, 200}}), 3010u);
}

// A replay reads 16,384 calls at a time.
TEST_F(PausesOfATape, StandWhereTheyAreAlsoBetweenTwoBatches) {
  EXPECT_EQ(exit_with(10'000, {{16'384, 10}, {16'385, 200}}), 16'384u);
}

TEST_F(MomentsOfATape, LeaveItAtItsBeginning) {
  auto reader = tape(events(10, 990));
  ASSERT_TRUE(find_moments(reader, UINT64_MAX, nullptr).ok());
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 1).ok());
  EXPECT_EQ(batch.first_event, 0u);
}

TEST_F(MomentsOfATape, ThatIsNotThereIsAnError) {
  auto reader = tape(events(10, 990));
  EXPECT_FALSE(find_moment(reader, *parse_moment("plateau"), nullptr).ok());
  EXPECT_FALSE(find_moment(reader, *parse_moment("#1991"), nullptr).ok());
  EXPECT_FALSE(find_moment(reader, *parse_moment("1s"), nullptr).ok());
  EXPECT_EQ(find_moment(reader, *parse_moment("#1990"), nullptr)->event, 1990u);
}

TEST_F(MomentsOfATape, WithoutARequestIsTheExitWhereThereIsNoPlateau) {
  auto reader = tape(events(10, 990));
  EXPECT_EQ(find_moment(reader, MomentRequest(), nullptr)->name, "exit");
}

}  // namespace
}  // namespace heaptape::replayer
