// What is said first of a replay.
#include "replayer/answers/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "replayer/report/verdict_text.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kMiBs = 1 << 20;

// A run that holds `live` and `holes` at its peak.
JudgedRun run_of(const std::string& label, RunRole role, uint64_t live, uint64_t holes) {
  Account account{.live_bytes = live, .hole_bytes = holes};
  return {.allocator = {.label = label, .spec = label, .family = label},
          .role = role,
          .states = {{.moment = "peak",
                      .at = 10,
                      .account = account,
                      .error_bytes = 3 * (live + holes) / 100}}};
}

Verdict judged(std::span<const JudgedRun> runs) {
  return judge({}, runs, Compare::kYes);
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
  return headline(judged(std::vector{run_of("glibc", role, kMiBs, kMiBs)}));
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
    EXPECT_EQ(judged(std::span(runs).first(i)).run.label, runs[i - 1].allocator.label);
  }
  const auto both = {run_of("first", RunRole::kCandidate, 1, 1),
                     run_of("second", RunRole::kCandidate, 1, 1)};
  EXPECT_EQ(judged(std::vector(both)).run.label, "first");
}

TEST(Verdict, IsAboutTheMomentWithMostBeyondLiveBytes) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 10 * kMiBs, 2 * kMiBs);
  run.states.push_back(
      {.moment = "plateau", .at = 20, .account = {.live_bytes = kMiBs, .hole_bytes = 3 * kMiBs}});
  EXPECT_EQ(judged(std::vector{run}).moment, "plateau");
  run.states[1].account.hole_bytes = 2 * kMiBs - 1;
  EXPECT_EQ(judged(std::vector{run}).moment, "peak");
  run.states[1].account.hole_bytes = 2 * kMiBs;
  EXPECT_EQ(judged(std::vector{run}).moment, "plateau") << "the later one";
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
  EXPECT_EQ(judged(std::vector{run}).held_bytes, 1151u);
}

TEST(Verdict, LeavesOutWhatIsLessThanATwentiethOr64KiB) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 95 * kMiBs, 5 * kMiBs);
  EXPECT_EQ(kinds(judged(std::vector{run})),
            (std::vector{FindingKind::kLive, FindingKind::kHoles}));
  run.states[0].account.live_bytes += kMiBs;
  EXPECT_EQ(kinds(judged(std::vector{run})),
            (std::vector{FindingKind::kLive, FindingKind::kNothing}));
  run = run_of("glibc", RunRole::kFaithful, 1, 64 << 10);
  EXPECT_EQ(kinds(judged(std::vector{run})), std::vector{FindingKind::kHoles});
  run.states[0].account.hole_bytes -= 1;
  EXPECT_EQ(kinds(judged(std::vector{run})), std::vector{FindingKind::kNothing});
}

Verdict pinned(const PinnedBy& pins) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs);
  run.states[0].pins = pins;
  Verdict verdict = judged(std::vector{run});
  verdict.can_be_recorded = true;
  return verdict;
}

TEST(Verdict, NamesWhoPinsTheHoles) {
  PinnedBy pins{.size_bytes = 48,
                .count = 1,
                .first_birth = 9'110'224,
                .last_birth = 9'110'224,
                .resident_hole_bytes = 3 * kMiBs};
  Verdict one = pinned(pins);
  EXPECT_EQ(evidence(one, one.findings[0]),
            "4.00 MiB (80.0%) is free between live blocks: one block of 48 B pins 3.00 MiB of it "
            "(call #9,110,224)");
  EXPECT_EQ(action(one, one.findings[0], "a b.tape"),
            "allocate these before or apart from what is freed, or free them sooner; `heaptape "
            "holes 'a b.tape' -a glibc --at peak` lists them; `heaptape record --stacks "
            "dwarf,size=48` says who asks for them");
  one.can_be_recorded = false;
  EXPECT_TRUE(action(one, one.findings[0], "").ends_with("` lists them"));
  pins.count = 2000;
  pins.first_birth = 5;
  Verdict several = pinned(pins);
  several.findings[0].site = "new_session (app.c:39)";
  several.findings[0].site_share = 1;
  EXPECT_EQ(evidence(several, several.findings[0]),
            "4.00 MiB (80.0%) is free between live blocks: new_session (app.c:39) has 2,000 blocks "
            "of 48 B that pin 3.00 MiB of it (calls #5 to #9,110,224)");
  EXPECT_TRUE(action(several, several.findings[0], "").ends_with("` lists them"));
  several.findings[0].site_share = 0.4;
  EXPECT_EQ(evidence(several, several.findings[0]),
            "4.00 MiB (80.0%) is free between live blocks: 2,000 blocks of 48 B, 40% of them of "
            "new_session (app.c:39), pin 3.00 MiB of it (calls #5 to #9,110,224)");
}

TEST(Verdict, NamesNoPinsOfASmallPartOfTheHoles) {
  PinnedBy pins{.size_bytes = 48, .count = 1, .resident_hole_bytes = 4 * kMiBs / 5};
  EXPECT_TRUE(pinned(pins).findings[0].pins);
  pins.resident_hole_bytes -= 1;
  EXPECT_FALSE(pinned(pins).findings[0].pins);
}

TEST(Verdict, SaysWhatTheAllocatorWouldGiveBack) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs);
  run.states[0].account.trimmable_bytes = 3 * kMiBs;
  const Verdict trimmed = judged(std::vector{run});
  EXPECT_EQ(evidence(trimmed, finding_of(trimmed, FindingKind::kTrim)),
            "malloc_trim(0) would give back 3.00 MiB (60.0%), part of the holes included");
  run.states[0].account.trimmable_bytes.reset();
  run.states[0].account.purgeable_bytes = 2 * kMiBs;
  run.allocator.family = "jemalloc";
  const Verdict purged = judged(std::vector{run});
  EXPECT_EQ(evidence(purged, finding_of(purged, FindingKind::kPurge)),
            "a purge would give back 2.00 MiB (40.0%), part of the holes included");
  EXPECT_NE(action(purged, finding_of(purged, FindingKind::kPurge), "").find("`MALLOC_CONF="),
            std::string::npos);
}

// The recorded run cannot be asked; a replay that is like it can.
TEST(Verdict, AsksTheReplayThatIsLikeTheRecordedRun) {
  std::vector<JudgedRun> runs = {run_of("recorded", RunRole::kRecorded, kMiBs, 4 * kMiBs),
                                 run_of("other", RunRole::kCandidate, kMiBs, 4 * kMiBs)};
  runs[1].states[0].account.trimmable_bytes = 3 * kMiBs;
  EXPECT_EQ(kinds(judged(runs)), (std::vector{FindingKind::kHoles, FindingKind::kPurged}));
  runs.push_back(run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs));
  runs[2].states[0].account.trimmable_bytes = 2 * kMiBs;
  const Verdict verdict = judged(runs);
  EXPECT_EQ(finding_of(verdict, FindingKind::kTrim).bytes, 2 * kMiBs);
}

TEST(Verdict, CallsAnAllocatorBetterBeyondTheErrorOnly) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 50 * kMiBs, 50 * kMiBs),
                                 run_of("a", RunRole::kCandidate, 50 * kMiBs, 39 * kMiBs),
                                 run_of("b", RunRole::kCandidate, 50 * kMiBs, 30 * kMiBs)};
  const Verdict better = judged(runs);
  const Finding& found = finding_of(better, FindingKind::kAllocator);
  EXPECT_EQ(found.allocator->label, "b");
  EXPECT_EQ(found.bytes, 20 * kMiBs);
  EXPECT_EQ(evidence(better, found),
            "b would hold 80.0 MiB at the peak, 20.0 MiB (20.0%) less; the prediction may be wrong "
            "by 3.00 MiB");
  runs[1].states[0].error_bytes = runs[2].states[0].error_bytes = 20 * kMiBs;
  const Verdict none = judged(runs);
  EXPECT_EQ(kinds(none),
            (std::vector{FindingKind::kHoles, FindingKind::kNoBetter, FindingKind::kLive}));
  EXPECT_EQ(evidence(none, finding_of(none, FindingKind::kNoBetter)),
            "another allocator may help: b would hold 80.0 MiB at the peak, 20.0 MiB less, but the "
            "prediction may be wrong by 20.0 MiB");
  EXPECT_EQ(action(none, finding_of(none, FindingKind::kNoBetter), ""), "try b");
  runs[1].states[0].account.hole_bytes = 46 * kMiBs;  // 4 %, beyond an error of 3 %
  runs.pop_back();
  runs[1].states[0].error_bytes = 1;
  const Verdict little = judged(runs);
  EXPECT_EQ(kinds(little), kinds(none)) << "too little to matter";
  EXPECT_EQ(evidence(little, finding_of(little, FindingKind::kNoBetter)),
            "another allocator is not worth trying: a would hold about as much or more");
}

TEST(Verdict, SaysWhatAnotherAllocatorCouldGiveBack) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 15 * kMiBs),
                                 run_of("jemalloc", RunRole::kCandidate, kMiBs, 16 * kMiBs),
                                 run_of("other", RunRole::kCandidate, kMiBs, 15 * kMiBs)};
  runs[0].states[0].account.trimmable_bytes = 8 * kMiBs;
  runs[1].states[0].account.purgeable_bytes = 15 * kMiBs;
  runs[1].allocator.library = "/lib/j.so";
  const Verdict verdict = judged(runs);
  EXPECT_EQ(kinds(verdict),
            (std::vector{FindingKind::kHoles, FindingKind::kTrim, FindingKind::kPurged}))
      << "the cause comes first";
  const Finding& found = finding_of(verdict, FindingKind::kPurged);
  EXPECT_EQ(found.bytes, 6 * kMiBs) << "beyond what a trim would give";
  EXPECT_EQ(
      evidence(verdict, found),
      "jemalloc would hold 2.00 MiB at the peak if it gave free memory back at once, 6.00 MiB "
      "less than glibc would then; as it is, 17.0 MiB");
  EXPECT_TRUE(
      action(verdict, found, "").starts_with("try it: `LD_PRELOAD=/lib/j.so`; set `MALLOC_"));
  runs[0].states[0].account.trimmable_bytes = 14 * kMiBs;
  EXPECT_EQ(kinds(judged(runs)),
            (std::vector{FindingKind::kHoles, FindingKind::kTrim, FindingKind::kNoBetter}))
      << "so can the allocator that is there";
}

TEST(Verdict, NamesAnAllocatorOnce) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 15 * kMiBs),
                                 run_of("a", RunRole::kCandidate, kMiBs, 8 * kMiBs)};
  runs[1].states[0].account.purgeable_bytes = 8 * kMiBs;
  EXPECT_EQ(kinds(judged(runs)), (std::vector{FindingKind::kHoles, FindingKind::kAllocator}));
}

TEST(Verdict, ComparesNoAllocatorWithItself) {
  const std::vector<JudgedRun> runs = {run_of("a", RunRole::kCandidate, kMiBs, 4 * kMiBs),
                                       run_of("b", RunRole::kCandidate, kMiBs, 4 * kMiBs)};
  const Verdict verdict = judged(runs);
  EXPECT_EQ(finding_of(verdict, FindingKind::kNoBetter).compared, std::vector<std::string>{"b"});
}

TEST(Verdict, SaysHowToTryAnAllocator) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                 run_of("a", RunRole::kCandidate, kMiBs, 0)};
  const auto said = [&runs] {
    const Verdict verdict = judged(runs);
    return action(verdict, finding_of(verdict, FindingKind::kAllocator), "");
  };
  EXPECT_EQ(said(), "try a");
  runs[1].allocator.settings = "A=1 B=2";
  EXPECT_EQ(said(), "try it: `A=1 B=2`");
  runs[1].allocator.library = "/lib/a.so";
  EXPECT_EQ(said(), "try it: `LD_PRELOAD=/lib/a.so A=1 B=2`");
}

TEST(Verdict, SaysThatThereIsNothingToGain) {
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 50 * kMiBs, 0),
                                       run_of("a", RunRole::kCandidate, 49 * kMiBs, 0)};
  const Verdict verdict = judged(runs);
  EXPECT_EQ(kinds(verdict), (std::vector{FindingKind::kLive, FindingKind::kNothing}));
  EXPECT_TRUE(
      headline(verdict).ends_with(" Most of it is in use: an allocator can change little."));
  EXPECT_EQ(evidence(verdict, verdict.findings[1]),
            "the allocator has no free part that is large enough to matter; another allocator is "
            "not worth trying: a would hold about as much or more");
  const Verdict alone = judged(std::span(runs).first(1));
  EXPECT_EQ(evidence(alone, alone.findings[1]),
            "the allocator has no free part that is large enough to matter");
}

TEST(Verdict, PromisesLittleFromSevenTenthsOn) {
  const auto said = [](uint64_t live, uint64_t holes) {
    return headline(judged(std::vector{run_of("glibc", RunRole::kFaithful, live, holes)}));
  };
  EXPECT_TRUE(said(70 * kMiBs, 30 * kMiBs).ends_with("little."));
  EXPECT_TRUE(said(69 * kMiBs, 31 * kMiBs).ends_with("live."));
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 70 * kMiBs, 30 * kMiBs),
                                       run_of("a", RunRole::kCandidate, 70 * kMiBs, 0)};
  EXPECT_TRUE(headline(judged(runs)).ends_with("live.")) << "another allocator has none of these";
  std::vector<JudgedRun> unsure = runs;
  unsure[1].states[0].error_bytes = 40 * kMiBs;
  EXPECT_TRUE(headline(judged(unsure)).ends_with("live.")) << "or may have none";
}

TEST(Verdict, SaysThatLiveBytesAreNeverFreed) {
  Verdict verdict = judged(std::vector{run_of("glibc", RunRole::kFaithful, 50 * kMiBs, 0)});
  const std::string live =
      "50.0 MiB (100.0%) is live: another allocator cannot hold less than that";
  EXPECT_EQ(evidence(verdict, verdict.findings[0]), live);
  verdict.end_live_bytes = 45 * kMiBs;
  EXPECT_EQ(evidence(verdict, verdict.findings[0]),
            live + "; 45.0 MiB is live at the end, never freed");
  EXPECT_TRUE(headline(verdict).ends_with(" is never freed: an allocator can change little."));
  verdict.end_live_bytes -= 1;
  EXPECT_EQ(evidence(verdict, verdict.findings[0]), live);
  EXPECT_TRUE(headline(verdict).ends_with(" is in use: an allocator can change little."));
  // Five bytes, all freed.
  const Verdict tiny = judged(std::vector{run_of("glibc", RunRole::kFaithful, 5, 0)});
  EXPECT_EQ(evidence(tiny, tiny.findings[0]),
            "5 B (100.0%) is live: another allocator cannot hold less than that");
}

TEST(Verdict, PromisesNoPurgeOfLessThanAFifth) {
  std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, 80 * kMiBs, 20 * kMiBs),
                                 run_of("a", RunRole::kCandidate, 80 * kMiBs, 20 * kMiBs)};
  runs[1].states[0].account.purgeable_bytes = 20 * kMiBs;
  EXPECT_EQ(finding_of(judged(runs), FindingKind::kPurged).bytes, 20 * kMiBs);
  runs[1].states[0].account.purgeable_bytes -= 1;
  EXPECT_EQ(finding_of(judged(runs), FindingKind::kNoBetter).compared,
            std::vector<std::string>{"a"});
}

TEST(Verdict, TellsLiveBytesThatWereNeverTouched) {
  JudgedRun run = run_of("recorded", RunRole::kRecorded, 200 * kMiBs, 7 * kMiBs);
  run.states[0].account.untouched_bytes = 198 * kMiBs;
  const Verdict verdict = judged(std::vector{run});
  EXPECT_EQ(headline(verdict),
            "Your run keeps 9.00 MiB at the peak for 2.00 MiB live (198.0 MiB more were never "
            "touched).");
  EXPECT_EQ(kinds(verdict), std::vector{FindingKind::kHoles});
}

// Replays do not have the memory from before.
TEST(Verdict, OfALateRecordingComparesNothing) {
  std::vector<JudgedRun> runs = {run_of("recorded", RunRole::kRecorded, kMiBs, 4 * kMiBs),
                                 run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                 run_of("a", RunRole::kCandidate, kMiBs, 0)};
  runs[0].states[0].account.late = LateStart{3 * kMiBs};
  runs[1].states[0].account.trimmable_bytes = 4 * kMiBs;
  const Verdict verdict = judged(runs);
  EXPECT_EQ(kinds(verdict), (std::vector{FindingKind::kHoles, FindingKind::kUnseen}));
  EXPECT_TRUE(headline(verdict).ends_with("1.00 MiB live since the recording began."));
}

TEST(Verdict, ComparesNothingUnasked) {
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                       run_of("a", RunRole::kCandidate, kMiBs, 0)};
  EXPECT_EQ(kinds(judge({}, runs, Compare::kNo)), std::vector{FindingKind::kHoles});
}

TEST(Verdict, IsFitToPrint) {
  const BesideMalloc beside{.bytes = 1, .text = "a\x1b[31mb", .remedies = {"c\nd"}};
  const Verdict verdict = judge(beside, {}, Compare::kYes);
  const std::string text = verdict_text(verdict, "e\x1b[m");
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

TEST(Verdict, SaysFirstWhatIsBesideMalloc) {
  const std::vector<JudgedRun> runs = {run_of("glibc", RunRole::kFaithful, kMiBs, 4 * kMiBs),
                                       run_of("a", RunRole::kCandidate, kMiBs, 0)};
  BesideMalloc beside{
      .bytes = 1, .text = "much is beside malloc", .remedies = {"do this", "do that"}};
  const Verdict some = judge(beside, runs, Compare::kYes);
  EXPECT_EQ(kinds(some), (std::vector{FindingKind::kHoles, FindingKind::kBesideMalloc,
                                      FindingKind::kAllocator}));
  EXPECT_EQ(evidence(some, some.findings[1]), "much is beside malloc");
  EXPECT_EQ(action(some, some.findings[1], ""), "do this; do that");
  EXPECT_TRUE(headline(some).starts_with("Your run keeps "));
  beside.is_most = true;
  EXPECT_TRUE(headline(judge(beside, runs, Compare::kYes))
                  .starts_with("Most memory of the process is beside malloc. Your run keeps "));
  EXPECT_EQ(kinds(judge(beside, runs, Compare::kYes)),
            (std::vector{FindingKind::kBesideMalloc, FindingKind::kHoles}))
      << "which allocator serves malloc matters little";
}

TEST(Verdict, TellsMostFirst) {
  JudgedRun run = run_of("glibc", RunRole::kFaithful, 10 * kMiBs, 2 * kMiBs);
  run.states[0].account.slack_bytes = 4 * kMiBs;
  run.states[0].account.cached_bytes = 3 * kMiBs;
  run.states[0].account.metadata_bytes = 5 * kMiBs;
  run.states[0].account.late = LateStart{6 * kMiBs};
  EXPECT_EQ(kinds(judged(std::vector{run})),
            (std::vector{FindingKind::kUnseen, FindingKind::kMetadata, FindingKind::kHoles,
                         FindingKind::kSlack, FindingKind::kCaches}))
      << "holes come before what is less than twice as much";
}

TEST(Verdict, OfNoRunSaysSo) {
  const Verdict verdict = judged(std::span<const JudgedRun>());
  EXPECT_EQ(headline(verdict), "No run with memory of its own reached the end of the tape.");
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_EQ(judge({.bytes = 1}, {}, Compare::kYes).findings.size(), 1u);
}

TEST(Verdict, HasANameForEachKind) {
  EXPECT_STREQ(kind_name(FindingKind::kBesideMalloc), "besideMalloc");
  EXPECT_STREQ(kind_name(FindingKind::kAllocator), "allocator");
  EXPECT_STREQ(kind_name(FindingKind::kLive), "live");
  EXPECT_STREQ(kind_name(FindingKind::kNoBetter), "noBetter");
}

}  // namespace
}  // namespace heaptape::replayer
