#include "replayer/answers/verdict.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace heaptape::replayer {
namespace {

constexpr uint64_t kNotedShare = 20;  // a twentieth of what is held, and so much
constexpr uint64_t kNotedBytes = 64 << 10;
constexpr uint64_t kPurgedShare = 5;  // a promise that needs a change of allocator and of settings

uint64_t less(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

uint64_t unseen_bytes(const Account& account) {
  return account.late ? account.late->unseen_bytes : 0;
}

// The resident memory of the heap.
uint64_t held_bytes(const Account& account) {
  const uint64_t sum = account.live_bytes + account.slack_bytes + account.metadata_bytes +
                       account.cached_bytes + account.hole_bytes + account.top_bytes +
                       unseen_bytes(account);
  return less(sum, account.untouched_bytes);
}

// Live bytes that are not resident, if they are worth a word.
uint64_t untouched_bytes(const Account& account) {
  const uint64_t untouched = std::min(account.live_bytes, account.untouched_bytes);
  return untouched < account.live_bytes / kNotedShare ? 0 : untouched;
}

uint64_t touched_live_bytes(const Account& account) {
  return account.live_bytes - untouched_bytes(account);
}

// The rest once the allocator has given back all that it can.
uint64_t purged_bytes(const Account& account) {
  return less(held_bytes(account), account.trimmable_bytes.value_or(account.purgeable_bytes));
}

uint64_t weight(const Finding& finding) {
  return finding.kind == FindingKind::kHoles ? 2 * finding.bytes : finding.bytes;
}

const JudgedState* state_at(const JudgedRun& run, const std::string& moment) {
  const auto found = std::ranges::find(run.states, moment, &JudgedState::moment);
  return found == run.states.end() ? nullptr : &*found;
}

// The one that is nearest to the recorded run. Among equals, the first.
const JudgedRun* judged_run(std::span<const JudgedRun> runs) {
  const JudgedRun* nearest = nullptr;
  for (const JudgedRun& run : runs) {
    if (run.states.empty()) continue;
    if (nearest == nullptr || run.role < nearest->role) nearest = &run;
  }
  return nearest;
}

// Where most is held beyond live bytes; of several, the last in the run.
const JudgedState& judged_state(const JudgedRun& run) {
  return *std::ranges::max_element(run.states, {}, [](const JudgedState& state) {
    return std::pair(less(held_bytes(state.account), touched_live_bytes(state.account)), state.at);
  });
}

class Judge {
 public:
  Judge(const BesideMalloc& beside, std::span<const JudgedRun> runs, const JudgedRun& run)
      : beside_(beside), runs_(runs), run_(run), state_(judged_state(run)) {
    const Account& account = state_.account;
    verdict_.run = run.allocator;
    if (const JudgedRun* const like = like_recorded()) verdict_.run.family = like->allocator.family;
    verdict_.role = run.role;
    verdict_.moment = state_.moment;
    verdict_.at = state_.at;
    verdict_.held_bytes = held_bytes(account);
    verdict_.live_bytes = touched_live_bytes(account);
    verdict_.untouched_bytes = untouched_bytes(account);
    verdict_.began_late = unseen_bytes(account) != 0;
  }

  Verdict judge(Compare compare) && {
    look_at_holes();
    // Replays lack the memory from before a late recording.
    const bool is_alike = !verdict_.began_late;
    if (is_alike) look_at_remedies();
    if (is_alike && compare == Compare::kYes && !beside_.is_most) compare_allocators();
    look_at_the_rest();
    auto& findings = verdict_.findings;
    const bool gains = !findings.empty();
    std::ranges::stable_sort(findings, std::greater<>(), weight);
    const bool is_better =
        verdict_.has(FindingKind::kAllocator) || verdict_.has(FindingKind::kPurged);
    if (!gains || (!others_.empty() && !is_better)) {
      Finding none = unsure_.value_or(Finding());
      none.kind = gains ? FindingKind::kNoBetter : FindingKind::kNothing;
      none.compared = others_;
      findings.push_back(std::move(none));
    }
    add_live();
    if (beside_.bytes != 0) {
      const bool is_second = !beside_.is_most && !findings.empty();
      findings.insert(
          findings.begin() + (is_second ? 1 : 0),
          {.kind = FindingKind::kBesideMalloc, .bytes = beside_.bytes, .beside = beside_});
    }
    return std::move(verdict_);
  }

 private:
  bool is_noted(uint64_t bytes) const {
    return bytes >= kNotedBytes && bytes >= verdict_.held_bytes / kNotedShare;
  }
  void note(FindingKind kind, uint64_t bytes) {
    if (is_noted(bytes)) verdict_.findings.push_back({.kind = kind, .bytes = bytes});
  }

  void look_at_holes() {
    const uint64_t holes = state_.account.hole_bytes;
    note(FindingKind::kHoles, holes);
    if (!verdict_.has(FindingKind::kHoles) || !state_.pins) return;
    constexpr uint64_t kNamedShare = 5;  // smaller groups explain little
    if (state_.pins->resident_hole_bytes < holes / kNamedShare) return;
    verdict_.findings.back().pins = state_.pins;
  }

  // Memory for which the allocator can be asked. The recorded run cannot ask: the replay that is
  // most like it can.
  void look_at_remedies() {
    const JudgedRun* const asked = like_recorded();
    const JudgedState* const state = asked == nullptr ? nullptr : state_at(*asked, state_.moment);
    if (state == nullptr) return;
    if (state->account.trimmable_bytes) {
      note(FindingKind::kTrim, *state->account.trimmable_bytes);
    } else {
      note(FindingKind::kPurge, state->account.purgeable_bytes);
    }
  }

  // The run itself if it is a replay, else a replay on the same allocator; null if there is none.
  const JudgedRun* like_recorded() const {
    if (run_.role != RunRole::kRecorded) return &run_;
    const JudgedRun* like = nullptr;
    for (const JudgedRun& run : runs_) {
      const bool is_like = run.role == RunRole::kFaithful || run.role == RunRole::kSame;
      if (is_like && (like == nullptr || run.role < like->role)) like = &run;
    }
    return like;
  }

  // Replays are compared with a replay, where there is one: they touch the same memory.
  void compare_allocators() {
    const JudgedRun* const like = like_recorded();
    const JudgedRun& base = like == nullptr ? run_ : *like;
    const JudgedState* const ours = state_at(base, state_.moment);
    if (ours == nullptr) return;
    const uint64_t bytes = held_bytes(ours->account);
    std::optional<Finding> better;
    std::optional<Finding> purged_better;
    for (const JudgedRun& run : runs_) {
      const JudgedState* const state = state_at(run, state_.moment);
      if (&run == &base || run.role != RunRole::kCandidate || state == nullptr) continue;
      others_.push_back(run.allocator.label);
      Finding found{.error_bytes = std::max(ours->error_bytes, state->error_bytes),
                    .allocator = run.allocator,
                    .allocator_bytes = held_bytes(state->account),
                    .purged_bytes = purged_bytes(state->account)};
      found.kind = FindingKind::kAllocator;
      found.bytes = less(bytes, found.allocator_bytes);
      keep_best(found, better);
      found.kind = FindingKind::kPurged;
      found.bytes = less(purged_bytes(ours->account), found.purged_bytes);
      if (found.bytes >= verdict_.held_bytes / kPurgedShare) keep_best(found, purged_better);
    }
    if (better) verdict_.findings.push_back(*better);
    // An allocator that is better as it is comes once.
    const bool is_same =
        better && purged_better && better->allocator->label == purged_better->allocator->label;
    if (purged_better && !is_same) verdict_.findings.push_back(*purged_better);
  }

  void keep_best(const Finding& found, std::optional<Finding>& best) {
    if (!is_noted(found.bytes)) return;
    const bool is_sure = found.bytes > found.error_bytes;
    if (!is_sure && found.kind != FindingKind::kAllocator) return;
    std::optional<Finding>& kept = is_sure ? best : unsure_;
    if (!kept || found.bytes > kept->bytes) kept = found;
  }

  void look_at_the_rest() {
    const Account& account = state_.account;
    note(FindingKind::kSlack, account.slack_bytes);
    note(FindingKind::kCaches, account.cached_bytes);
    note(FindingKind::kMetadata, account.metadata_bytes);
    note(FindingKind::kUnseen, unseen_bytes(account));
  }

  void add_live() {
    const uint64_t live = std::min(verdict_.live_bytes, verdict_.held_bytes);
    if (live == 0 || live < verdict_.held_bytes / 2) return;
    auto& findings = verdict_.findings;
    const Finding found{.kind = FindingKind::kLive, .bytes = live};
    findings.insert(verdict_.has_little_to_gain() ? findings.begin() : findings.end(), found);
  }

  const BesideMalloc& beside_;
  std::span<const JudgedRun> runs_;
  const JudgedRun& run_;
  const JudgedState& state_;
  Verdict verdict_;
  std::vector<std::string> others_;  // that were compared
  std::optional<Finding> unsure_;    // an allocator that is better, but not beyond the error
};

}  // namespace

bool Verdict::has(FindingKind kind) const {
  return std::ranges::find(findings, kind, &Finding::kind) != findings.end();
}

bool Verdict::has_little_to_gain() const {
  return held_bytes != 0 && live_bytes / 7 >= held_bytes / 10 &&
         std::ranges::none_of(findings,
                              [](const Finding& one) { return one.allocator.has_value(); });
}

Verdict judge(const BesideMalloc& beside, std::span<const JudgedRun> runs, Compare compare) {
  const JudgedRun* const run = judged_run(runs);
  if (run != nullptr) return Judge(beside, runs, *run).judge(compare);
  Verdict verdict;
  if (beside.bytes != 0) {
    verdict.findings.push_back(
        {.kind = FindingKind::kBesideMalloc, .bytes = beside.bytes, .beside = beside});
  }
  return verdict;
}

const char* kind_name(FindingKind kind) {
  constexpr const char* kNames[] = {"besideMalloc", "holes",   "trim",    "purge",    "allocator",
                                    "purged",       "slack",   "caches",  "metadata", "unseen",
                                    "live",         "nothing", "noBetter"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace heaptape::replayer
