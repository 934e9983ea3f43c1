// What is said first of a replay.
#include "replayer/answers/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heaptape::replayer {
namespace {

constexpr uint64_t kMiBs = 1 << 20;

// A run that holds `live` and `holes` at its peak.
JudgedRun run_of(const std::string& label, RunRole role, uint64_t live, uint64_t holes) {
  Account account{.live_bytes = live, .hole_bytes = holes};
  return {.label = label,
          .family = label,
          .library = "",
          .role = role,
          .error = {.share = 0.03},
          .states = {{.moment = "peak", .at = 10, .account = account}}};
}

std::vector<FindingKind> kinds(const Verdict& verdict) {
  std::vector<FindingKind> kinds;
  for (const Finding& finding : verdict.findings) kinds.push_back(finding.kind);
  return kinds;
}

const Finding& finding_of(const Verdict& verdict, FindingKind kind) {
  static const Finding kNone;
  const auto found = std::ranges::find(verdict.findings, kind, &Finding::kind);
  EXPECT_NE(found, verdict.findings.end());
  return found == verdict.findings.end() ? kNone : *found;
}

std::string headline_of(RunRole role) {
  return headline(judge({}, std::vector{run_of("glibc", role, kMiBs, kMiBs)}));
}

TEST(Verdict, SaysWhichRunItIsAbout) {
  EXPECT_EQ(headline_of(RunRole::kRecorded),
            "Your run keeps 2.00 MiB at the peak for 1.00 MiB live.");
  EXPECT_EQ(headline_of(RunRole::kFaithful), headline_of(RunRole::kRecorded));
  EXPECT_EQ(headline_of(RunRole::kSame),
            "On glibc, which it ran with, the program keeps 2.00 MiB at the peak for 1.00 MiB "
            "live.");
  EXPECT_EQ(headline_of(RunRole::kCandidate),
            "On glibc, the program would keep 2.00 MiB at the peak for 1.00 MiB live.");
}

TEST(Verdict, IsAboutTheRunNearestToTheRecordedOne) {
  const std::vector<JudgedRun> runs = {
      run_of("candidate", RunRole::kCandidate, 1, 1), run_of("same", RunRole::kSame, 1, 1),
      run_of("faithful", RunRole::kFaithful, 1, 1), run_of("recorded", RunRole::kRecorded, 1, 1)};
  for (size_t i = 1; i <= runs.size(); ++i) {
    EXPECT_EQ(judge({}, std::span(runs).first(i)).run, runs[i - 1].label);
  }
  const auto both = {run_of("first", RunRole::kCandidate, 1, 1),
                     run_of("second", RunRole::kCandidate, 1, 1)};
  EXPECT_EQ(judge({}, std::vector(both)).run, "first");
}

TEST(Verdict, IsAboutTheMomentWithMostBeyondLiveBytes) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 10 * kMiBs, 2 * kMiBs);
  run.states.push_back(
      {.moment = "plateau", .at = 20, .account = {.live_bytes = kMiBs, .hole_bytes = 3 * kMiBs}});
  EXPECT_EQ(judge({}, std::vector{run}).moment, "plateau");
  run.states[1].account.hole_bytes = 2 * kMiBs - 1;
  EXPECT_EQ(judge({}, std::vector{run}).moment, "peak");
  run.states[1].account.hole_bytes = 2 * kMiBs;
  EXPECT_EQ(judge({}, std::vector{run}).moment, "plateau") << "the later one";
}

TEST(Verdict, CountsWhatIsResident) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 5, 7);
  run.states[0].account = {.live_bytes = 1000,
                           .slack_bytes = 200,
                           .metadata_bytes = 30,
                           .cached_bytes = 4,
                           .hole_bytes = 10,
                           .top_bytes = 5,
                           .returned_bytes = 7'000'000,
                           .untouched_bytes = 100,
                           .late = LateStart{2}};
  EXPECT_EQ(judge({}, std::vector{run}).held_bytes, 1151u);
}

TEST(Verdict, LeavesOutWhatIsLessThanATwentiethOr64KiB) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 95 * kMiBs, 5 * kMiBs);
  EXPECT_EQ(kinds(judge({}, std::vector{run})),
            (std::vector{FindingKind::kHoles, FindingKind::kLive}));
  run.states[0].account.live_bytes += kMiBs;
  EXPECT_EQ(kinds(judge({}, std::vector{run})),
            (std::vector{FindingKind::kNothing, FindingKind::kLive}));
  run = run_of("glibc", RunRole::kFaithful, 1, 64 << 10);
  EXPECT_EQ(kinds(judge({}, std::vector{run})), std::vector{FindingKind::kHoles});
  run.states[0].account.hole_bytes -= 1;
  EXPECT_EQ(kinds(judge({}, std::vector{run})), std::vector{FindingKind::kNothing});
}

TEST(Verdict, NamesWhoPinsTheHoles) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs);
  PinnedBy pins{.size_bytes = 48,
                .count = 1,
                .first_birth = 9'110'224,
                .last_birth = 9'110'224,
                .resident_hole_bytes = 3 * kMiBs};
  run.states[0].pins = {&pins, 1};
  const Verdict one = judge({}, std::vector{run});
  EXPECT_EQ(evidence(one, one.findings[0]),
            "4.00 MiB (80.0%) is free between live blocks: one block of 48 B, born at #9,110,224, "
            "pins 3.00 MiB of it");
  EXPECT_EQ(action(one, one.findings[0], "a.tape"),
            "allocate these before or apart from what is freed, or free them sooner; `heaptape "
            "holes a.tape -a glibc --at peak` lists them, `heaptape record --stacks "
            "dwarf,size=48` says who asks for them");
  pins.count = 2000;
  pins.first_birth = 5;
  Verdict several = judge({}, std::vector{run});
  several.findings[0].site = "new_session (app.c:39)";
  EXPECT_TRUE(action(several, several.findings[0], "").ends_with("` lists them"));
  EXPECT_EQ(evidence(several, several.findings[0]),
            "4.00 MiB (80.0%) is free between live blocks: 2,000 blocks of 48 B, born from #5 to "
            "#9,110,224, for new_session (app.c:39), pin 3.00 MiB of it");
}

TEST(Verdict, NamesNoPinsOfASmallPartOfTheHoles) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, kMiBs, 10 * kMiBs);
  PinnedBy pins{.size_bytes = 48, .count = 1, .resident_hole_bytes = kMiBs};
  run.states[0].pins = {&pins, 1};
  EXPECT_EQ(judge({}, std::vector{run}).findings[0].pins.count, 1u);
  pins.resident_hole_bytes -= 1;
  EXPECT_EQ(judge({}, std::vector{run}).findings[0].pins.count, 0u);
}

TEST(Verdict, SaysWhatTheAllocatorWouldGiveBack) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs);
  run.states[0].account.trimmable_bytes = 3 * kMiBs;
  const Verdict trimmed = judge({}, std::vector{run});
  EXPECT_EQ(evidence(trimmed, finding_of(trimmed, FindingKind::kTrim)),
            "malloc_trim(0) would give back 3.00 MiB (60.0%)");
  run.states[0].account.trimmable_bytes.reset();
  run.states[0].account.purgeable_bytes = 2 * kMiBs;
  run.family = "jemalloc";
  const Verdict purged = judge({}, std::vector{run});
  EXPECT_EQ(evidence(purged, finding_of(purged, FindingKind::kPurge)),
            "a purge would give back 2.00 MiB (40.0%)");
  EXPECT_NE(action(purged, finding_of(purged, FindingKind::kPurge), "").find("MALLOC_CONF"),
            std::string::npos);
}

// The recorded run cannot be asked; a replay that is like it can.
TEST(Verdict, AsksTheReplayThatIsLikeTheRecordedRun) {
  std::vector<JudgedRun> runs = {run_of("recorded", RunRole::kRecorded, kMiBs, 4 * kMiBs),
                                 run_of("other", RunRole::kCandidate, kMiBs, 4 * kMiBs)};
  runs[1].states[0].account.trimmable_bytes = 3 * kMiBs;
  EXPECT_EQ(kinds(judge({}, runs)), (std::vector{FindingKind::kHoles, FindingKind::kPurged}));
  runs.push_back(run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs));
  runs[2].states[0].account.trimmable_bytes = 2 * kMiBs;
  const Verdict verdict = judge({}, runs);
  EXPECT_EQ(finding_of(verdict, FindingKind::kTrim).bytes, 2 * kMiBs);
}

TEST(Verdict, CallsAnAllocatorBetterBeyondTheErrorOnly) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 50 * kMiBs, 50 * kMiBs),
                                 run_of("a", RunRole::kCandidate, 50 * kMiBs, 39 * kMiBs),
                                 run_of("b", RunRole::kCandidate, 50 * kMiBs, 30 * kMiBs)};
  const Verdict better = judge({}, runs);
  const Finding& found = finding_of(better, FindingKind::kAllocator);
  EXPECT_EQ(found.allocator, "b");
  EXPECT_EQ(found.bytes, 20 * kMiBs);
  EXPECT_EQ(evidence(better, found),
            "b would hold 80.0 MiB at the peak, 20.0 MiB (20.0%) less; the prediction may be wrong "
            "by 3.00 MiB");
  runs[1].error.bytes = runs[2].error.bytes = 20 * kMiBs;
  const Verdict none = judge({}, runs);
  EXPECT_EQ(kinds(none),
            (std::vector{FindingKind::kHoles, FindingKind::kNoBetter, FindingKind::kLive}));
  EXPECT_EQ(evidence(none, finding_of(none, FindingKind::kNoBetter)),
            "none of a, b would hold less by more than 22.7 MiB, which is what the prediction may "
            "be wrong by");
}

TEST(Verdict, SaysWhatAnotherAllocatorCouldGiveBack) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 15 * kMiBs),
                                 run_of("jemalloc", RunRole::kCandidate, kMiBs, 16 * kMiBs),
                                 run_of("other", RunRole::kCandidate, kMiBs, 15 * kMiBs)};
  runs[0].states[0].account.trimmable_bytes = 8 * kMiBs;
  runs[1].states[0].account.purgeable_bytes = 15 * kMiBs;
  runs[1].library = "/lib/j.so";
  const Verdict verdict = judge({}, runs);
  EXPECT_EQ(kinds(verdict),
            (std::vector{FindingKind::kHoles, FindingKind::kPurged, FindingKind::kTrim}))
      << "the cause comes first";
  const Finding& found = finding_of(verdict, FindingKind::kPurged);
  EXPECT_EQ(found.bytes, 14 * kMiBs);
  EXPECT_EQ(evidence(verdict, found),
            "jemalloc would hold 17.0 MiB at the peak, and 2.00 MiB once it has given back what it "
            "can");
  EXPECT_TRUE(action(verdict, found, "").starts_with("try it: LD_PRELOAD=/lib/j.so; set MALLOC_"));
  runs[0].states[0].account.trimmable_bytes = 14 * kMiBs;
  EXPECT_EQ(kinds(judge({}, runs)),
            (std::vector{FindingKind::kHoles, FindingKind::kTrim, FindingKind::kNoBetter}))
      << "so can the allocator that is there";
}

TEST(Verdict, NamesAnAllocatorOnce) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 15 * kMiBs),
                                 run_of("a", RunRole::kCandidate, kMiBs, 8 * kMiBs)};
  runs[1].states[0].account.purgeable_bytes = 8 * kMiBs;
  EXPECT_EQ(kinds(judge({}, runs)), (std::vector{FindingKind::kHoles, FindingKind::kAllocator}));
}

TEST(Verdict, NamesTheFileToTryAnAllocatorWith) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                 run_of("a", RunRole::kCandidate, kMiBs, 0)};
  runs[1].library = "/lib/a.so";
  const Verdict verdict = judge({}, runs);
  EXPECT_EQ(action(verdict, finding_of(verdict, FindingKind::kAllocator), ""),
            "try it: LD_PRELOAD=/lib/a.so");
}

TEST(Verdict, SaysThatThereIsNothingToGain) {
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 50 * kMiBs, 0),
                                       run_of("a", RunRole::kCandidate, 49 * kMiBs, 0)};
  const Verdict verdict = judge({}, runs);
  EXPECT_EQ(kinds(verdict), (std::vector{FindingKind::kNothing, FindingKind::kLive}));
  EXPECT_EQ(evidence(verdict, verdict.findings[0]),
            "there is nothing to gain: no free part is large enough to matter, and a would not "
            "hold less by more than 1.50 MiB, which is what the prediction may be wrong by");
  EXPECT_EQ(evidence(judge({}, std::span(runs).first(1)), {.kind = FindingKind::kNothing}),
            "there is nothing to gain: no free part is large enough to matter");
}

TEST(Verdict, SaysFirstWhatIsBesideMalloc) {
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                       run_of("a", RunRole::kCandidate, kMiBs, 0)};
  BesideMalloc beside{
      .bytes = 1, .text = "much is beside malloc", .remedies = {"do this", "do that"}};
  const Verdict some = judge(beside, runs);
  EXPECT_EQ(kinds(some), (std::vector{FindingKind::kBesideMalloc, FindingKind::kHoles,
                                      FindingKind::kAllocator}));
  EXPECT_EQ(evidence(some, some.findings[0]), "much is beside malloc");
  EXPECT_EQ(action(some, some.findings[0], ""), "do this; do that");
  beside.is_most = true;
  EXPECT_EQ(kinds(judge(beside, runs)),
            (std::vector{FindingKind::kBesideMalloc, FindingKind::kHoles}))
      << "which allocator serves malloc matters little";
}

TEST(Verdict, TellsMostFirst) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 10 * kMiBs, 2 * kMiBs);
  run.states[0].account.slack_bytes = 4 * kMiBs;
  run.states[0].account.cached_bytes = 3 * kMiBs;
  run.states[0].account.metadata_bytes = 5 * kMiBs;
  run.states[0].account.late = LateStart{6 * kMiBs};
  EXPECT_EQ(kinds(judge({}, std::vector{run})),
            (std::vector{FindingKind::kUnseen, FindingKind::kMetadata, FindingKind::kHoles,
                         FindingKind::kSlack, FindingKind::kCaches}))
      << "holes come before what is less than twice as much";
}

TEST(Verdict, OfNoRunSaysSo) {
  const Verdict verdict = judge({}, {});
  EXPECT_EQ(headline(verdict), "No run with memory of its own reached the end of the tape.");
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_EQ(judge({.bytes = 1}, {}).findings.size(), 1u);
}

TEST(Verdict, HasANameForEachKind) {
  EXPECT_STREQ(kind_name(FindingKind::kBesideMalloc), "besideMalloc");
  EXPECT_STREQ(kind_name(FindingKind::kAllocator), "allocator");
  EXPECT_STREQ(kind_name(FindingKind::kLive), "live");
  EXPECT_STREQ(kind_name(FindingKind::kNoBetter), "noBetter");
}

}  // namespace
}  // namespace heaptape::replayer
