// What `heaptape explain` and `heaptape holes` say of real programs, on real allocators and models.
#include "replayer/engine/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "allocators/catalog/catalog.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "tests/support/golden.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using replayer::Account;
using replayer::Explanation;

// Throws, which fails the test, where there is no explanation or its run failed.
Explanation explain(const std::string& path, const std::string& spec, const std::string& at = "") {
  replayer::ExplainOptions options;
  options.spec = *allocators::parse_spec(spec);
  if (!at.empty()) options.at = *replayer::parse_moment(at);
  auto tape = schema::TapeReader::open(path);
  if (!tape.ok()) throw std::runtime_error(tape.error().message);
  auto explained = replayer::find_explained(*tape, options, nullptr);
  if (!explained.ok()) throw std::runtime_error(explained.error().message);
  auto explanation = replayer::explain(*tape, options, std::move(*explained), nullptr);
  if (!explanation.ok()) throw std::runtime_error(explanation.error().message);
  if (const auto& failure = explanation->run.failure) throw std::runtime_error(failure->text);
  return std::move(*explanation);
}

const Account& account_of(const Explanation& explanation) {
  return *explanation.state().account;
}

void expect_closed(const Explanation& explanation) {
  const Account& account = account_of(explanation);
  EXPECT_EQ(account.unexplained_bytes, 0);
  EXPECT_EQ(account.committed_bytes, account.live_bytes + account.slack_bytes +
                                         account.metadata_bytes + account.cached_bytes +
                                         account.hole_bytes + account.top_bytes +
                                         account.returned_bytes);
  EXPECT_EQ(account.resident_bytes,
            account.committed_bytes - account.returned_bytes - account.untouched_bytes);
  const auto& snapshot = explanation.state().snapshot;
  EXPECT_EQ(account.resident_bytes, snapshot.resident_bytes);
  EXPECT_EQ(account.committed_bytes, snapshot.committed_bytes);
  EXPECT_EQ(account.live_bytes, snapshot.live.live_bytes);
}

// What came back when the allocator was asked.
int64_t tried_bytes(const Explanation& explanation) {
  const replayer::ActionResult& action = explanation.run.metrics.actions.at(0);
  return static_cast<int64_t>(action.before.resident_bytes) -
         static_cast<int64_t>(action.after.resident_bytes);
}

struct RealProgram {
  const char* name;
  std::vector<std::string> words;
};

std::ostream& operator<<(std::ostream& out, const RealProgram& program) {
  return out << program.name;
}

// Records once for all tests of a program.
class ExplainedProgram : public testing::TestWithParam<RealProgram> {
 protected:
  static std::string tape() {
    static std::map<std::string, std::pair<std::unique_ptr<tests::TempDir>, std::string>> tapes;
    auto& [dir, path] = tapes[GetParam().name];
    if (dir == nullptr) {
      dir = std::make_unique<tests::TempDir>();
      path = tests::record(*dir, GetParam().words, {"PYTHONMALLOC=malloc"});
    }
    return path;
  }
};

TEST_P(ExplainedProgram, HasAnAccountThatClosesOnRealAllocators) {
  const bool asks_for_aligned_blocks = GetParam().name == std::string("Threads");
  const std::string why_not = asks_for_aligned_blocks ? tests::mimalloc_3_0_1() : "";
  for (const std::string spec : {"glibc", "jemalloc", "mimalloc", "tcmalloc"}) {
    if (spec == "mimalloc" && !why_not.empty()) continue;
    SCOPED_TRACE(spec);
    for (const char* const at : {"peak", "exit"}) expect_closed(explain(tape(), spec, at));
  }
  if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_P(ExplainedProgram, HasAnAccountThatClosesOnEveryModel) {
  for (const allocators::CatalogEntry& entry : allocators::catalog()) {
    if (!entry.name.starts_with("model:") || entry.name == "model:ideal") continue;
    SCOPED_TRACE(entry.name);
    expect_closed(explain(tape(), entry.name, "exit"));
  }
}

TEST_P(ExplainedProgram, HasTheAccountOfGlibcOnItsModel) {
  if (const std::string why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  if (GetParam().name == std::string("Threads")) GTEST_SKIP() << "threads race for the arenas";
  const Account real = account_of(explain(tape(), "glibc", "exit"));
  const Account model = account_of(explain(tape(), "model:ptmalloc", "exit"));
  EXPECT_EQ(model.metadata_bytes, real.metadata_bytes);
  EXPECT_EQ(model.cached_bytes, real.cached_bytes);
  EXPECT_EQ(model.trimmable_bytes, real.trimmable_bytes);
}

// Within a page for each arena (of two processors at most 16), or 1 %.
TEST_P(ExplainedProgram, GetsBackFromMallocTrimWhatIsEstimated) {
  const double arenas = GetParam().name == std::string("Threads") ? 16 : 1;
  for (const char* const spec : {"glibc", "model:ptmalloc"}) {
    for (const char* const at : {"peak", "exit"}) {
      const Explanation explanation = explain(tape(), spec, at);
      const auto estimate = static_cast<double>(*account_of(explanation).trimmable_bytes);
      EXPECT_NEAR(static_cast<double>(tried_bytes(explanation)), estimate,
                  std::max(arenas * 4096.0, estimate / 100))
          << spec << " " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , ExplainedProgram,
    testing::Values(
        RealProgram{"Python",
                    {"python3", "-c",
                     "x = [str(i) * (i % 40) for i in range(40000)]\ndel x[::3]\nprint(len(x))"}},
        RealProgram{"Perl",
                    {"perl", "-e",
                     "$h{$_} = 'x' x ($_ % 99) for 1..20000; delete $h{$_} "
                     "for grep { $_ % 3 } keys %h"}},
        RealProgram{"Compiler",
                    {"sh", "-c", "echo '#include <vector>' | c++ -x c++ -O1 -c -o /dev/null -"}},
        RealProgram{"Sqlite",
                    {"sqlite3", ":memory:",
                     "create table t(a, b); with recursive n(i) as (select 1 union all select i + "
                     "1 from n where i < 20000) insert into t select i, hex(randomblob(i % 90)) "
                     "from n; delete from t where a % 3; select count(*) from t"}},
        RealProgram{"Threads", {tests::target_path("replay_fuzz"), "1", "40000", "8"}}),
    [](const auto& instance) { return std::string(instance.param.name); });

class ExplainTest : public testing::Test {
 protected:
  std::string scenario(const std::string& name, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {"heaptape", "scenario", name, "-o", tape_};
    words.insert(words.end(), options.begin(), options.end());
    EXPECT_EQ(tests::run(words).status, 0);
    return tape_;
  }
  std::string said(const std::vector<std::string>& words) {
    std::vector<std::string> line = {"heaptape"};
    line.insert(line.end(), words.begin(), words.end());
    const auto ended = tests::run(line);
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return ended.out;
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("s.tape");
};

// The published case: the numbers are those of its author.
TEST_F(ExplainTest, SaysByHowManyBytesTheSliverPinsALongHole) {
  for (const char* const spec : {"glibc", "model:ptmalloc"}) {
    if (const auto why = tests::not_glibc_2_36(spec); !why.empty()) GTEST_SKIP() << why;
    const Explanation explanation = explain(scenario("sliver-pin"), spec, "end");
    const auto& growths = explanation.run.metrics.heap_growths;
    const auto growth =
        std::ranges::find(growths, 8'880'819u, &replayer::HeapGrowth::request_bytes);
    ASSERT_NE(growth, growths.end());
    EXPECT_EQ(growth->largest_hole_bytes, 8'880'480u);
    EXPECT_EQ(growth->short_bytes(), 339u);
    ASSERT_TRUE(growth->pin);
    EXPECT_EQ(growth->pin->requested_bytes, 232u);
    EXPECT_EQ(growth->pin->birth, 5u);
    EXPECT_GE(growth->free_bytes, growth->request_bytes);
    EXPECT_EQ(growth->given_back_at, 0u);
  }
}

// The published case: what stays of each manifest are blocks of 232 and 77 bytes.
TEST_F(ExplainTest, NamesWhatStaysOfManifestsAsThePins) {
  const std::vector<std::string> sets = {"--set",          "manifests=300", "--set",
                                         "length=1000000", "--set",         "growth=100"};
  const Explanation explanation =
      explain(scenario("manifest-patching", sets), "model:ptmalloc", "exit");
  const auto holes = replayer::find_holes(*explanation.run.picture);
  const auto pins = replayer::rank_pins(*explanation.run.picture, holes, 2);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].size_bytes, 232u);
  EXPECT_EQ(pins[1].size_bytes, 77u);
  EXPECT_GT(pins[0].resident_hole_bytes, account_of(explanation).hole_bytes / 2);
}

TEST_F(ExplainTest, PrintsTheShortfallAndThePin) {
  if (const auto why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  const std::string text = said({"explain", scenario("sliver-pin"), "-a", "glibc", "--at", "end"});
  EXPECT_NE(text.find("8,880,819     8,880,480        339  232 bytes of #5"), std::string::npos)
      << text;
}

TEST_F(ExplainTest, PrintsTheRuleOfAModelBelowEachGrowth) {
  const std::string text =
      said({"explain", scenario("sliver-pin"), "-a", "model:ptmalloc", "--at", "end"});
  EXPECT_NE(
      text.find("never\n    no free chunk fits and top lacks 8,746,976 bytes: the break moves"),
      std::string::npos)
      << text;
}

TEST_F(ExplainTest, HasARuleInJsonWhereItIsKnown) {
  const std::string rule = "\"rule\": \"no free chunk fits";
  const auto json_on = [this](const std::string& spec) {
    return said({"explain", scenario("sliver-pin"), "-a", spec, "--at", "end", "--json"});
  };
  EXPECT_NE(json_on("model:ptmalloc").find(rule), std::string::npos);
  EXPECT_EQ(json_on("glibc").find("\"rule\""), std::string::npos);
}

TEST_F(ExplainTest, WritesJsonThatNamesTheMoment) {
  const std::string json =
      said({"explain", scenario("sliver-pin"), "-a", "model:ptmalloc", "--at", "#6", "--json"});
  EXPECT_EQ(tests::json_number(json, "at"), 6u);
  EXPECT_EQ(tests::json_number(json, "unexplainedBytes"), 0u);
  EXPECT_NE(json.find("\"heapGrowths\""), std::string::npos);
}

TEST_F(ExplainTest, HolesNamesTheBlocksBesideTheLargest) {
  const std::string text =
      said({"holes", scenario("sliver-pin"), "-a", "model:ptmalloc", "--at", "#6"});
  EXPECT_NE(text.find(": 8,880,480 bytes (8.47 MiB), all resident; last free in it: #6"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("after it: 232 bytes at 0x"), std::string::npos) << text;
}

TEST_F(ExplainTest, HolesShowsNoneBelowTheLeastSize) {
  const std::string text = said({"holes", scenario("sliver-pin"), "-a", "model:ptmalloc", "--at",
                                 "#6", "--min-size", "9MiB"});
  EXPECT_EQ(text.find("before it"), std::string::npos) << text;
}

TEST_F(ExplainTest, RefusesAMomentThatIsNotThere) {
  scenario("sliver-pin");
  const auto refuse = [this](const std::string& at, const std::string& part) {
    tests::expect_refusal(tests::run({"heaptape", "explain", tape_, "-a", "glibc", "--at", at}),
                          part);
  };
  refuse("#8", "has 7 calls: there is no #8");
  refuse("plato", "there is no moment 'plato'");
  refuse("3s", "has no times");
}

TEST_F(ExplainTest, OfARunWithoutPlateauLooksAtItsExitUnlessAsked) {
  scenario("fill");
  EXPECT_NE(said({"explain", tape_, "-a", "model:bump"}).find(" at exit: after #"),
            std::string::npos);
  tests::expect_refusal(
      tests::run({"heaptape", "explain", tape_, "-a", "model:bump", "--at", "plateau"}),
      "has no plateau");
}

TEST_F(ExplainTest, SuggestsTheMomentThatWasMeant) {
  scenario("sliver-pin");
  tests::expect_refusal(
      tests::run({"heaptape", "explain", tape_, "-a", "glibc", "--at", "plataeu"}),
      "did you mean plateau");
}

TEST_F(ExplainTest, RefusesThreadsThatRunFreely) {
  tests::expect_refusal(tests::run({"heaptape", "explain", scenario("sliver-pin"), "-a", "glibc",
                                    "--threads", "free"}),
                        "use ordered, lockstep or merged");
}

TEST_F(ExplainTest, OfAFewCallsTakesNoDipForAPlateau) {
  EXPECT_NE(said({"explain", scenario("sliver-pin"), "-a", "model:ptmalloc"}).find("at exit"),
            std::string::npos);
}

// Without thread caches what is small and free is in fastbins, which a trim empties.
TEST_F(ExplainTest, CountsNothingAsCachedWhereNothingIs) {
  if (const auto why = tests::not_glibc_2_36(); !why.empty()) GTEST_SKIP() << why;
  const std::string tape = tests::golden_path("../../docs/questions/python.tape");
  const std::string spec = "glibc GLIBC_TUNABLES=glibc.malloc.tcache_count=0";
  const Explanation explanation = explain(tape, spec, "plateau");
  EXPECT_LE(account_of(explanation).cached_bytes, 656u);  // the empty cache itself
  EXPECT_EQ(tried_bytes(explanation),
            static_cast<int64_t>(*account_of(explanation).trimmable_bytes));
}

// A thread's heap shrinks and keeps its memory, and another thread's cache holds the last block in
// it: all below that block can go.
TEST_F(ExplainTest, EstimatesTheTrimOfAHeapThatShrank) {
  constexpr uint64_t kBig = 100'000;
  constexpr uint64_t kBlocks = 300;
  constexpr uint64_t kExtra = 5;
  constexpr uint64_t kKept = 0x10;
  const auto big = [](uint64_t i) { return 0x1000000 + i * (kBig + 32); };
  std::vector<schema::Event> events{tests::malloc_event(8, 0x20)};
  for (uint64_t i = 0; i < kBlocks; ++i) events.push_back(tests::malloc_event(kBig, big(i), 1));
  events.push_back(tests::malloc_event(64, kKept, 1));
  for (uint64_t i = 0; i < kExtra; ++i) {
    events.push_back(tests::malloc_event(kBig, big(kBlocks + i), 1));
  }
  for (uint64_t i = kBlocks + kExtra; i-- > 0;) events.push_back(tests::free_event(big(i), 1));
  events.push_back(tests::free_event(kKept));
  tests::write_tape(tape_, events);
  for (const char* const spec : {"glibc", "model:ptmalloc"}) {
    const Explanation explanation = explain(tape_, spec, "end");
    const auto estimate = static_cast<double>(*account_of(explanation).trimmable_bytes);
    EXPECT_GT(estimate, 0.9 * kBlocks * kBig) << spec;
    EXPECT_NEAR(estimate, static_cast<double>(tried_bytes(explanation)), 4096) << spec;
  }
}

// Samples have a sum; jemalloc may have given the pages of holes back.
TEST_F(ExplainTest, SaysNoMoreOfTheRecordedRunThanTheTapeKnows) {
  if (tests::kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const std::string tape =
      tests::record(dir_, {"/usr/bin/python3", "-c", "import time; time.sleep(0.2)"},
                    {"LD_PRELOAD=libjemalloc.so.2", "PYTHONMALLOC=malloc"});
  const schema::ReportFigures report = tests::replay_report(dir_, tape, {"recorded", "jemalloc"});
  const auto resident = report.runs.at(0).metric("end.residentBytes");
  ASSERT_TRUE(resident);
  EXPECT_GT(schema::number_of(*resident), 1e5);
  for (const char* const name : {"residentHoleBytes", "account.purgeableBytes",
                                 "account.returnedBytes", "account.untouchedBytes"}) {
    EXPECT_FALSE(report.runs.at(0).metric(std::string("atPeak.") + name)) << name;
    EXPECT_TRUE(report.runs.at(1).metric(std::string("atPeak.") + name)) << name;
  }
  for (const std::string spec : {"recorded", "jemalloc"}) {
    const std::string path = dir_.file(spec + ".json");
    said({"replay", tape, "-a", spec, "-o", path});
    EXPECT_EQ(tests::read_bytes(path).find("\"pins\"") != std::string::npos, spec == "jemalloc");
  }
  const std::string text = said({"explain", tape, "-a", "recorded", "--at", "end"});
  EXPECT_NE(text.find("\n  resident, as sampled"), std::string::npos) << text;
  EXPECT_NE(text.find("which pages are resident is not on the tape"), std::string::npos) << text;
  EXPECT_EQ(text.find("what would give resident bytes back"), std::string::npos) << text;
  const std::string part = " resident; last free in it";
  EXPECT_EQ(said({"holes", tape, "-a", "recorded"}).find(part), std::string::npos);
  EXPECT_NE(said({"holes", tape, "-a", "jemalloc"}).find(part), std::string::npos);
}

// No sample at all.
TEST_F(ExplainTest, SaysNothingOfWhatIsResidentInATrace) {
  const std::string text =
      said({"explain", scenario("sliver-pin"), "-a", "recorded", "--at", "end"});
  EXPECT_NE(text.find("\n  resident, as sampled               -\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("what would give resident bytes back"), std::string::npos) << text;
}

TEST_F(ExplainTest, RefusesABackendWithoutBlocks) {
  tests::expect_refusal(
      tests::run({"heaptape", "explain", scenario("sliver-pin"), "-a", "noop", "--at", "end"}),
      "'noop' places no blocks");
}

TEST_F(ExplainTest, OfATapeWithoutCallsHasAnEmptyAccount) {
  tests::write_tape(tape_, {});
  const Explanation explanation = explain(tape_, "model:ptmalloc");
  expect_closed(explanation);
  EXPECT_EQ(account_of(explanation).live_bytes, 0u);
}

TEST_F(ExplainTest, LooksBeforeItAsksForMemoryBack) {
  const Explanation explanation = explain(scenario("sliver-pin"), "model:ptmalloc", "#6");
  EXPECT_EQ(explanation.state().snapshot.resident_bytes,
            explanation.run.metrics.actions.at(0).before.resident_bytes);
  EXPECT_GT(tried_bytes(explanation), 8'000'000);
}

}  // namespace
}  // namespace heaptape
