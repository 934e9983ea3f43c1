// Runs with a known answer: the verdict has to find it. On models, so that it is the same
// everywhere.
#include "replayer/report/run_verdict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "replayer/engine/tape_moments.h"
#include "replayer/report/report_builder.h"
#include "replayer/report/verdict_text.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

// Makes calls; addresses are invented, and none comes twice.
class Program {
 public:
  size_t take(uint64_t size) {
    blocks_.push_back(next_);
    events_.push_back(tests::malloc_event(size, next_));
    next_ += (size + 31) / 16 * 16;
    return blocks_.size() - 1;
  }
  void give(size_t block) { events_.push_back(tests::free_event(blocks_[block])); }
  std::vector<size_t> take_many(size_t count, uint64_t size) {
    std::vector<size_t> taken;
    for (size_t i = 0; i < count; ++i) taken.push_back(take(size));
    return taken;
  }
  void give_all(const std::vector<size_t>& blocks) {
    for (const size_t block : blocks) give(block);
  }
  const std::vector<schema::Event>& events() const { return events_; }

 private:
  uint64_t next_ = 0x10000000;
  std::vector<uint64_t> blocks_;
  std::vector<schema::Event> events_;
};

// `count` times `many` buffers and then one block that stays; then all buffers go.
void pin_buffers(Program& program, size_t count, size_t many, uint64_t buffer, uint64_t pin) {
  std::vector<size_t> buffers;
  for (size_t i = 0; i < count; ++i) {
    for (const size_t block : program.take_many(many, buffer)) buffers.push_back(block);
    program.take(pin);
  }
  program.give_all(buffers);
}

struct Known {
  const char* name;
  const char* family;  // of the recorded allocator
  std::function<void(Program&)> run;
  std::vector<FindingKind> found;    // among the findings
  std::vector<FindingKind> missing;  // not among them
  uint64_t pin_bytes = 0;            // size of the blocks that pin most; 0: whatever
  uint64_t pins = 0;                 // their number; 0: whatever
  const char* better = "";           // the allocator that would hold less
};

using enum FindingKind;

const std::vector<FindingKind> kNoGain = {kHoles, kTrim, kPurge, kAllocator};

std::vector<Known> known_runs() {
  return {
      {"one block keeps the heap from shrinking",
       "glibc",
       [](Program& program) { pin_buffers(program, 1, 2000, 8000, 48); },
       {kHoles, kTrim},
       {kNothing},
       48,
       1},
      {"sessions between buffers",
       "glibc",
       [](Program& program) { pin_buffers(program, 2000, 1, 8000, 96); },
       {kHoles, kTrim},
       {kNothing},
       96,
       2000},
      {"large pins between small buffers",
       "glibc",
       [](Program& program) { pin_buffers(program, 500, 40, 200, 1000); },
       {kHoles, kTrim},
       {kNothing},
       1000,
       500},
      {"pins of two sizes, one with most of the holes",
       "glibc",
       [](Program& program) {
         pin_buffers(program, 500, 4, 4000, 64);
         pin_buffers(program, 500, 1, 4000, 128);
       },
       {kHoles},
       {kNothing},
       64,
       500},
      {"holes too small for a page",
       "glibc",
       [](Program& program) { pin_buffers(program, 20'000, 1, 100, 100); },
       {kHoles},
       {kTrim, kNothing},
       100},
      {"holes of one size that other sizes do not fit",
       "glibc",
       [](Program& program) {
         pin_buffers(program, 10'000, 1, 500, 24);
         program.take_many(2000, 3000);
       },
       {kHoles},
       {kNothing},
       24},
      {"a slab allocator reuses what a heap cannot",
       "glibc",
       [](Program& program) {
         pin_buffers(program, 10'000, 1, 1000, 64);
         program.take_many(5'000, 2000);
       },
       {kHoles, kAllocator},
       {kNothing, kNoBetter},
       64,
       10'000,
       "model:slabs"},
      {"sizes just above a class",
       "jemalloc",
       [](Program& program) { program.take_many(20'000, 520); },
       {kSlack, kLive, kAllocator},
       {kNothing, kHoles},
       0,
       0,
       "model:ptmalloc"},
      {"a purge has to be asked for",
       "jemalloc",
       [](Program& program) {
         program.take_many(1000, 500);
         program.give_all(program.take_many(1000, 8000));
       },
       {kPurge, kAllocator},
       {kNothing},
       0,
       0,
       "model:ptmalloc"},
      {"pinned slabs",
       "jemalloc",
       [](Program& program) {
         std::vector<size_t> gone;
         const std::vector<size_t> all = program.take_many(40'000, 112);
         for (size_t i = 0; i < all.size(); ++i) {
           if (i % 36 != 0) gone.push_back(all[i]);
         }
         program.give_all(gone);
       },
       {kHoles},
       {kNothing},
       112},
      {"headers are a quarter",
       "glibc",
       [](Program& program) { program.take_many(50'000, 24); },
       {kMetadata, kLive},
       {kHoles, kTrim}},
      {"small requests in larger blocks",
       "glibc",
       [](Program& program) { program.take_many(50'000, 1); },
       {kSlack, kAllocator},
       {kHoles, kTrim},
       0,
       0,
       "model:slabs"},
      {"caches of a small heap",
       "glibc",
       [](Program& program) {
         for (uint64_t size = 16; size <= 1024; size += 16) {
           program.give_all(program.take_many(7, size));
         }
         program.take(64);
       },
       {kCaches},
       {kNothing}},
      {"the top of the heap stays",
       "glibc",
       [](Program& program) {
         program.take_many(100, 1000);
         program.give_all(program.take_many(120, 1000));
       },
       {kTrim},
       {kNothing}},

      // Nothing to gain.
      {"all live",
       "glibc",
       [](Program& program) { program.take_many(5'000, 1000); },
       {kNothing, kLive},
       kNoGain},
      {"all live, in large blocks",
       "glibc",
       [](Program& program) { program.take_many(20, 1 << 20); },
       {kNothing, kLive},
       kNoGain},
      {"all live, in slabs",
       "jemalloc",
       [](Program& program) { program.take_many(10'000, 1024); },
       {kNothing, kLive},
       kNoGain},
      {"blocks come and go, and their memory is reused",
       "glibc",
       [](Program& program) {
         program.take_many(5'000, 1000);
         for (int i = 0; i < 10'000; ++i) program.give(program.take(1000));
       },
       {kNothing, kLive},
       kNoGain},
      {"large blocks go back at once",
       "glibc",
       [](Program& program) {
         program.take_many(10, 1 << 20);
         program.give_all(program.take_many(10, 1 << 20));
         program.take_many(10, 1 << 20);
       },
       {kNothing, kLive},
       kNoGain},
      {"two sizes that are both live",
       "glibc",
       [](Program& program) {
         for (int i = 0; i < 3'000; ++i) {
           program.take(2000);
           program.take(496);
         }
       },
       {kNothing, kLive},
       kNoGain},
  };
}

class KnownRun : public testing::TestWithParam<size_t> {
 protected:
  Verdict verdict_on(const Known& known) {
    Program program;
    known.run(program);
    const size_t calls = program.events().size();
    for (size_t i = 0; i < calls; ++i) program.give(program.take(16));  // it goes on
    schema::TapeHeader header = tests::sample_header();
    header.recorded_allocator.family = known.family;
    tests::write_tape(dir_.file("a.tape"), program.events(), {}, header);
    auto tape = schema::TapeReader::open(dir_.file("a.tape"));
    EXPECT_TRUE(tape.ok());
    ReplayOptions options{.specs = {*allocators::parse_spec("model:ptmalloc"),
                                    *allocators::parse_spec("model:slabs")},
                          .name_culprits = true};
    options.moments = *find_moments(*tape, UINT64_MAX, {});
    const auto runs = replay(*tape, options, {});
    EXPECT_TRUE(runs.ok());
    return build_report(*tape, *runs, options)->verdict;
  }

  tests::TempDir dir_;
};

TEST_P(KnownRun, GetsTheRightVerdict) {
  const Known known = known_runs()[GetParam()];
  const Verdict verdict = verdict_on(known);
  const std::string text = known.name + (":\n" + verdict_text(verdict, "a.tape"));
  const auto has = [&](FindingKind kind) {
    return std::ranges::find(verdict.findings, kind, &Finding::kind) != verdict.findings.end();
  };
  EXPECT_EQ(verdict.role, RunRole::kSame) << text;
  for (const FindingKind kind : known.found) EXPECT_TRUE(has(kind)) << kind_name(kind) << text;
  for (const FindingKind kind : known.missing) EXPECT_FALSE(has(kind)) << kind_name(kind) << text;
  for (const Finding& finding : verdict.findings) {
    if (finding.kind == kHoles && known.pin_bytes != 0) {
      ASSERT_TRUE(finding.pins) << text;
      EXPECT_EQ(finding.pins->size_bytes, known.pin_bytes) << text;
    }
    if (finding.kind == kHoles && known.pins != 0) {
      EXPECT_NEAR(static_cast<double>(finding.pins->count), static_cast<double>(known.pins),
                  static_cast<double>(known.pins) / 6)
          << text;
    }
    if (finding.kind == kAllocator) {
      EXPECT_EQ(finding.allocator->label, known.better) << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, KnownRun, testing::Range<size_t>(0, known_runs().size()));

TEST(KnownRuns, AreTwentyAndSixHaveNothingToGain) {
  const std::vector<Known> known = known_runs();
  EXPECT_EQ(known.size(), 20u);
  EXPECT_EQ(std::ranges::count_if(known, [](const Known& one) { return one.missing == kNoGain; }),
            6);
}

constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kSecond = 1'000'000'000;

// A recorded run of a second with 200 MiB live and 7 MiB in holes, of which a sample found so much
// so long before its end.
Verdict verdict_on_sample(uint64_t before_ns, uint64_t malloc_bytes = 9 * kMebibyte) {
  schema::ReportFigures report;
  report.moments = {{"exit", 10, kSecond,
                     schema::ProcessFigures{.time_ns = kSecond - before_ns,
                                            .anonymous_bytes = malloc_bytes,
                                            .malloc_bytes = malloc_bytes}}};
  MomentState state;
  state.moment = {.name = "exit", .event = 10, .time_ns = kSecond};
  state.snapshot.at = 10;
  state.snapshot.live.live_bytes = state.snapshot.usable_bytes = 200 * kMebibyte;
  state.account = Account{.live_bytes = 200 * kMebibyte, .hole_bytes = 7 * kMebibyte};
  RunResult run{.spec = *allocators::parse_spec("recorded")};
  run.metrics.known_resident = KnownResident::kHoles;
  run.metrics.moments = {state};
  const ReplayOptions options{.specs = {}, .moments = {state.moment}};
  return judge_runs(tests::sample_header(), report, {run}, options);
}

TEST(RecordedRun, HoldsOnlyMemoryThatASampleNearTheMomentFound) {
  const Verdict near = verdict_on_sample(kSecond / 16);
  EXPECT_EQ(near.held_bytes, 9 * kMebibyte);
  EXPECT_EQ(near.live_bytes, 2 * kMebibyte);
  EXPECT_EQ(near.untouched_bytes, 198 * kMebibyte);
  const Verdict far = verdict_on_sample(kSecond / 16 + 1);
  EXPECT_EQ(far.held_bytes, 207 * kMebibyte) << "the sample may be of another heap";
}

// Only blocks can be untouched; what lies in holes was blocks before.
TEST(RecordedRun, IsNotWhatASampleFoundWithLessThanAllButItsBlocks) {
  EXPECT_EQ(verdict_on_sample(0, 7 * kMebibyte).untouched_bytes, 200 * kMebibyte);
  const Verdict other = verdict_on_sample(0, 7 * kMebibyte - 1);
  EXPECT_EQ(other.untouched_bytes, 0u);
  EXPECT_EQ(other.held_bytes, 207 * kMebibyte);
}

// The first of two functions has most at the peak, the other at the end.
TEST(LiveSites, AreThoseOfTheTableAtThePeakAndTheEnd) {
  schema::Stacks stacks;
  const std::vector<schema::Frame> frames{{0, 0x400001}, {0, 0x400002}};
  stacks.add_frames(0, frames);
  std::vector<CodePlace> places{{}};
  for (uint32_t i = 1; i <= 2; ++i) {
    places.push_back({"/opt/app", i, {{"f" + std::to_string(i), "app.cc", i}}});
  }
  const Symbols symbols(places, {0, 1, 2});
  const Sites sites(stacks, symbols, SiteRules());
  SiteTable table{.peak_at = 5, .total = {}, .left_out = {}, .rows = {}, .sampled = {}};
  const auto row = [&sites](schema::FrameNumber stack, uint64_t peak_bytes, uint64_t live_bytes) {
    SiteRow made;
    made.site = sites.of_stack(stack);
    made.totals = {.peak_bytes = peak_bytes, .live_bytes = live_bytes};
    return made;
  };
  table.rows = {row(1, 60, 10), row(2, 20, 30)};
  table.total = {.peak_bytes = 100, .live_bytes = 40};
  const auto named = [&](uint64_t at) {
    Verdict verdict{.moment = "exit", .at = at};
    verdict.findings = {{.kind = FindingKind::kHoles}, {.kind = FindingKind::kLive}};
    if (!name_live(table, 9, sites, verdict)) return std::string("another moment");
    EXPECT_EQ(verdict.findings[0].site, "");
    return verdict.findings[1].site + " " + std::to_string(verdict.findings[1].site_share);
  };
  EXPECT_EQ(named(5), "f1 (app.cc:1) 0.600000");
  EXPECT_EQ(named(9), "f2 (app.cc:2) 0.750000");
  EXPECT_EQ(named(8), "another moment");
}

// Runs that hold 100 MiB at the exit: the recorded allocator's, and another one's, which holds
// less.
class PredictionError : public testing::Test {
 protected:
  PredictionError() : runs_{run("model:ptmalloc", 90), run("jemalloc", 20)} {
    header_.recorded_allocator.family = "glibc";
  }

  static RunResult run(const char* spec, uint64_t hole_mib) {
    MomentState state;
    state.moment = {.name = "exit", .event = 10};
    state.snapshot.at = 10;
    state.snapshot.live.live_bytes = state.snapshot.usable_bytes = 10 * kMebibyte;
    const uint64_t holes = hole_mib * kMebibyte;
    state.account = Account{.resident_bytes = 10 * kMebibyte + holes,
                            .live_bytes = 10 * kMebibyte,
                            .hole_bytes = holes};
    RunResult run{.spec = *allocators::parse_spec(spec)};
    run.metrics.moments = {state};
    return run;
  }
  void put_blocks_where_they_were(double share) {
    runs_[0].metrics.compared_blocks = 1000;
    runs_[0].metrics.same_offset_share = share;
  }
  Verdict verdict(uint64_t threads) const {
    const ReplayOptions options{.specs = {}, .moments = {runs_[0].metrics.moments.front().moment}};
    schema::ReportFigures report;
    report.tape_threads = threads;
    return judge_runs(header_, report, runs_, options);
  }
  uint64_t error(uint64_t threads) const {
    const Verdict judged = verdict(threads);
    const auto found = std::ranges::find(judged.findings, FindingKind::kAllocator, &Finding::kind);
    return found == judged.findings.end() ? 0 : found->error_bytes;
  }

  schema::TapeHeader header_ = tests::sample_header();
  std::vector<RunResult> runs_;
};

TEST_F(PredictionError, GrowsWithThreadsUnlessTheReplayIsFaithful) {
  EXPECT_EQ(error(1), 3 * kMebibyte);
  EXPECT_EQ(error(4), 6 * kMebibyte);
  put_blocks_where_they_were(0.99);
  EXPECT_EQ(error(4), 3 * kMebibyte);
  put_blocks_where_they_were(0.98);
  EXPECT_EQ(error(4), 20 * kMebibyte);
  EXPECT_EQ(error(1), 3 * kMebibyte);
  EXPECT_EQ(verdict(1).error_share, 0.03);
  EXPECT_EQ(verdict(4).error_share, 0.20);
}

// A quarter of what may still be there.
TEST_F(PredictionError, GrowsWithWhatTheClockPurges) {
  runs_[1].metrics.counters = {{"jemallocPurgedPages", 8 * kMebibyte / 4096}};
  runs_[1].metrics.moments[0].account->returned_bytes = 100 * kMebibyte;
  EXPECT_EQ(error(1), 3 * kMebibyte) << "of the greater error";
  runs_[1].metrics.counters[0].value *= 10;
  const uint64_t own = 3 * 30 * kMebibyte / 100;
  EXPECT_EQ(error(1), own + 20 * kMebibyte);
  runs_[1].metrics.moments[0].account->returned_bytes = 40 * kMebibyte;
  EXPECT_EQ(error(1), own + 10 * kMebibyte) << "the rest was used again";
  runs_[1].spec.environment = {"MALLOC_CONF=dirty_decay_ms:0"};
  EXPECT_EQ(error(1), 3 * kMebibyte) << "at once, whatever the clock says";
}

// FAMILY@VERSION is another allocator, until its blocks are where they were.
TEST_F(PredictionError, IsThatOfTheRecordedVersion) {
  EXPECT_EQ(verdict(1).role, RunRole::kSame);
  runs_[0].spec.text = "glibc@2.99";
  EXPECT_EQ(verdict(1).role, RunRole::kCandidate);
  put_blocks_where_they_were(1);
  EXPECT_EQ(verdict(1).role, RunRole::kFaithful);
}

// Models stand for real allocators where there are fewer than two of these, plug-ins included.
TEST_F(PredictionError, ComparesNoModelsBesideTwoRealAllocators) {
  const auto compared = [this](allocators::BackendKind kind) {
    runs_ = {run("model:ptmalloc", 90), run("jemalloc", 90), run("tcmalloc", 90),
             run("model:slabs", 90)};
    runs_[2].spec.kind = kind;
    for (const Finding& finding : verdict(1).findings) {
      if (!finding.compared.empty()) return finding.compared;
    }
    return std::vector<std::string>();
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(compared(allocators::BackendKind::kNative), (Names{"jemalloc", "tcmalloc"}));
  EXPECT_EQ(compared(allocators::BackendKind::kPlugin), (Names{"jemalloc", "tcmalloc"}));
  EXPECT_EQ(compared(allocators::BackendKind::kModel),
            (Names{"jemalloc", "tcmalloc", "model:slabs"}));
}

// With --to nobody knows what is freed later; a run that failed did not come so far.
TEST_F(PredictionError, KnowsTheEndOfWholeReplaysAlone) {
  runs_[0].metrics.end.live.live_bytes = 5;
  runs_[1].metrics.end.live.live_bytes = 7;
  const auto at_end = [this](uint64_t until) {
    ReplayOptions options{.specs = {}, .moments = {runs_[0].metrics.moments.front().moment}};
    options.until = until;
    schema::ReportFigures report;
    report.tape_events = 10;
    return judge_runs(header_, report, runs_, options).end_live_bytes;
  };
  EXPECT_EQ(at_end(UINT64_MAX), 5u);
  EXPECT_EQ(at_end(10), 5u);
  EXPECT_EQ(at_end(9), 0u);
  runs_[0].metrics.accounting.refused = 1;
  EXPECT_EQ(at_end(10), 7u);
}

TEST_F(PredictionError, IsOfATapeThatCanOrCannotBeRecordedAgain) {
  EXPECT_TRUE(verdict(1).can_be_recorded);
  header_.origin.format = "malloclab";
  EXPECT_FALSE(verdict(1).can_be_recorded);
}

}  // namespace
}  // namespace heaptape::replayer
