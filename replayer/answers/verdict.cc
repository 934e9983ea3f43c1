#include "replayer/answers/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "base/name_list.h"
#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;

constexpr uint64_t kNotedShare = 20;  // a twentieth of what is held, and so much
constexpr uint64_t kNotedBytes = 64 << 10;

uint64_t less(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

// The resident memory of the heap. A recorded run's resident bytes are those of the whole process.
uint64_t held_bytes(const Account& account) {
  const uint64_t unseen = account.late ? account.late->unseen_bytes : 0;
  const uint64_t sum = account.live_bytes + account.slack_bytes + account.metadata_bytes +
                       account.cached_bytes + account.hole_bytes + account.top_bytes + unseen;
  return less(sum, account.untouched_bytes);
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
    return std::pair(less(held_bytes(state.account), state.account.live_bytes), state.at);
  });
}

class Judge {
 public:
  Judge(const BesideMalloc& beside, std::span<const JudgedRun> runs, const JudgedRun& run)
      : beside_(beside), runs_(runs), run_(run), state_(judged_state(run)) {
    verdict_.run = run.label;
    verdict_.family = run.family;
    verdict_.role = run.role;
    verdict_.moment = state_.moment;
    verdict_.held_bytes = held_bytes(state_.account);
    verdict_.live_bytes = state_.account.live_bytes;
  }

  Verdict judge() && {
    look_at_holes();
    look_at_remedies();
    const bool is_compared = !beside_.is_most && compare_allocators();
    look_at_the_rest();
    auto& findings = verdict_.findings;
    const bool gains = !findings.empty();
    std::ranges::stable_sort(findings, std::greater<>(), weight);
    if (is_compared && !has(FindingKind::kAllocator) && !has(FindingKind::kPurged)) {
      add_no_better(gains ? FindingKind::kNoBetter : FindingKind::kNothing);
    } else if (!gains) {
      findings.push_back({.kind = FindingKind::kNothing});
    }
    const uint64_t live = std::min(verdict_.live_bytes, verdict_.held_bytes);
    if (live != 0 && live >= verdict_.held_bytes / 2) {
      findings.push_back({.kind = FindingKind::kLive, .bytes = live});
    }
    if (beside_.bytes != 0) {
      findings.insert(
          findings.begin(),
          {.kind = FindingKind::kBesideMalloc, .bytes = beside_.bytes, .beside = beside_});
    }
    return std::move(verdict_);
  }

 private:
  bool has(FindingKind kind) const {
    return std::ranges::find(verdict_.findings, kind, &Finding::kind) != verdict_.findings.end();
  }
  bool is_noted(uint64_t bytes) const {
    return bytes >= kNotedBytes && bytes >= verdict_.held_bytes / kNotedShare;
  }
  void note(FindingKind kind, uint64_t bytes) {
    if (is_noted(bytes)) verdict_.findings.push_back({.kind = kind, .bytes = bytes});
  }

  void look_at_holes() {
    note(FindingKind::kHoles, state_.account.hole_bytes);
    if (!has(FindingKind::kHoles) || state_.pins.empty()) return;
    constexpr uint64_t kNamedShare = 10;  // smaller groups explain nothing
    const PinnedBy& most = state_.pins.front();
    if (most.resident_hole_bytes < state_.account.hole_bytes / kNamedShare) return;
    verdict_.findings.back().pins = most;
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

  // Replays are compared with a replay, where there is one: they touch the same memory. False:
  // there was no choice.
  bool compare_allocators() {
    const JudgedRun* const like = like_recorded();
    const JudgedRun& base = like == nullptr ? run_ : *like;
    const JudgedState* const ours = state_at(base, state_.moment);
    if (ours == nullptr) return false;
    const uint64_t bytes = held_bytes(ours->account);
    std::optional<Finding> better;
    std::optional<Finding> purged_better;
    for (const JudgedRun& run : runs_) {
      const JudgedState* const state = state_at(run, state_.moment);
      if (&run == &base || run.role != RunRole::kCandidate || state == nullptr) continue;
      others_.push_back(run.label);
      const uint64_t held = held_bytes(state->account);
      const uint64_t error = std::max(base.error.of(bytes), run.error.of(held));
      error_bytes_ = std::max(error_bytes_, error);
      const uint64_t purged = purged_bytes(state->account);
      Finding found{.error_bytes = error,
                    .allocator = run.label,
                    .family = run.family,
                    .library = run.library,
                    .allocator_bytes = held,
                    .purged_bytes = purged};
      if (less(bytes, held) > error && is_noted(bytes - held)) {
        found.kind = FindingKind::kAllocator;
        found.bytes = bytes - held;
        keep_best(found, better);
      }
      const uint64_t gain = less(purged_bytes(ours->account), purged);
      if (gain > error && is_noted(gain)) {
        found.kind = FindingKind::kPurged;
        found.bytes = less(bytes, purged);
        keep_best(found, purged_better);
      }
    }
    if (better) verdict_.findings.push_back(*better);
    // An allocator that is better as it is comes once.
    const bool is_same = better && purged_better && better->allocator == purged_better->allocator;
    if (purged_better && !is_same) verdict_.findings.push_back(*purged_better);
    return !others_.empty();
  }

  static void keep_best(const Finding& found, std::optional<Finding>& best) {
    if (!best || found.bytes > best->bytes) best = found;
  }

  void add_no_better(FindingKind kind) {
    verdict_.findings.push_back(
        {.kind = kind, .error_bytes = error_bytes_, .allocator = base::name_list(others_)});
  }

  void look_at_the_rest() {
    const Account& account = state_.account;
    note(FindingKind::kSlack, account.slack_bytes);
    note(FindingKind::kCaches, account.cached_bytes);
    note(FindingKind::kMetadata, account.metadata_bytes);
    if (account.late) note(FindingKind::kUnseen, account.late->unseen_bytes);
  }

  const BesideMalloc& beside_;
  std::span<const JudgedRun> runs_;
  const JudgedRun& run_;
  const JudgedState& state_;
  Verdict verdict_;
  std::vector<std::string> others_;  // that were compared
  uint64_t error_bytes_ = 0;         // the greatest of their comparisons
};

// "6.61 MiB (76.0%)" of what is held.
std::string part(const Verdict& verdict, uint64_t bytes) {
  return bytes_text(bytes) + " (" + share_text(bytes, verdict.held_bytes) + ")";
}

std::string pins_text(const Finding& finding) {
  const PinnedBy& pins = finding.pins;
  if (pins.count == 0) return "";
  const std::string of_site = finding.site.empty() ? "" : ", for " + finding.site;
  const std::string pinned = bytes_text(pins.resident_hole_bytes) + " of it";
  if (pins.count == 1) {
    return ": one block of " + bytes_text(pins.size_bytes) + ", born at #" +
           base::grouped(pins.first_birth) + of_site + ", pins " + pinned;
  }
  return ": " + base::counted(pins.count, "block") + " of " + bytes_text(pins.size_bytes) +
         ", born from #" + base::grouped(pins.first_birth) + " to #" +
         base::grouped(pins.last_birth) + of_site + ", pin " + pinned;
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& one : sentences) text += (text.empty() ? "" : "; ") + one;
  return text;
}

std::string at(const Verdict& verdict) {
  return "at the " + verdict.moment;
}

// How to have an allocator give free pages back.
std::string purge_action(const std::string& family) {
  if (family == "jemalloc") {
    return "set MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0, or call "
           "mallctl(\"arena.4096.purge\")";
  }
  if (family == "mimalloc") return "call mi_collect(true), or set MIMALLOC_PURGE_DELAY=0";
  if (family == "glibc") return "call malloc_trim(0)";
  if (family == "tcmalloc") return "call MallocExtension_ReleaseFreeMemory()";
  return "use its own call or setting for this";
}

// How to learn who asked for the blocks that pin.
std::string who_action(const Finding& finding) {
  if (finding.pins.count == 0 || !finding.site.empty()) return "";
  return ", `heaptape record --stacks dwarf,size=" +
         std::to_string(std::max<uint64_t>(finding.pins.size_bytes, 1)) +
         "` says who asks for them";
}

std::string try_action(const Finding& finding) {
  if (!finding.library.empty()) return "try it: LD_PRELOAD=" + finding.library;
  return "try " + (finding.family.empty() ? "it" : finding.family);
}

std::string better_text(const Verdict& verdict, const Finding& finding) {
  const uint64_t before = finding.allocator_bytes + finding.bytes;
  return finding.allocator + " would hold " + bytes_text(finding.allocator_bytes) + " " +
         at(verdict) + ", " + bytes_text(finding.bytes) + " (" + share_text(finding.bytes, before) +
         ") less; the prediction may be wrong by " + bytes_text(finding.error_bytes);
}

std::string purged_text(const Verdict& verdict, const Finding& finding) {
  return finding.allocator + " would hold " + bytes_text(finding.allocator_bytes) + " " +
         at(verdict) + ", and " + bytes_text(finding.purged_bytes) +
         " once it has given back what it can";
}

std::string no_better_text(const Finding& finding) {
  const bool is_one = finding.allocator.find(", ") == std::string::npos;
  return (is_one ? finding.allocator + " would not" : "none of " + finding.allocator + " would") +
         " hold less by more than " + bytes_text(finding.error_bytes) +
         ", which is what the prediction may be wrong by";
}

// ", 98.8% of it for new_session (app.c:12)"
std::string live_site_text(const Finding& finding) {
  if (finding.site.empty()) return "";
  return ", " + base::format_text("%.1f", 100 * finding.site_share) + "% of it for " + finding.site;
}

std::string nothing_text(const Finding& finding) {
  const std::string nothing = "there is nothing to gain: no free part is large enough to matter";
  return finding.allocator.empty() ? nothing : nothing + ", and " + no_better_text(finding);
}

}  // namespace

uint64_t PredictionError::of(uint64_t resident_bytes) const {
  return bytes + static_cast<uint64_t>(std::ceil(share * static_cast<double>(resident_bytes)));
}

Verdict judge(const BesideMalloc& beside, std::span<const JudgedRun> runs) {
  const JudgedRun* const run = judged_run(runs);
  if (run != nullptr) return Judge(beside, runs, *run).judge();
  Verdict verdict;
  if (beside.bytes != 0) {
    verdict.findings.push_back(
        {.kind = FindingKind::kBesideMalloc, .bytes = beside.bytes, .beside = beside});
  }
  return verdict;
}

std::string headline(const Verdict& verdict) {
  if (verdict.run.empty()) return "No run with memory of its own reached the end of the tape.";
  const std::string keeps = bytes_text(verdict.held_bytes) + " " + at(verdict) + " for " +
                            bytes_text(verdict.live_bytes) + " live.";
  switch (verdict.role) {
    case RunRole::kRecorded:
    case RunRole::kFaithful:
      return "Your run keeps " + keeps;
    case RunRole::kSame:
      return "On " + verdict.run + ", which it ran with, the program keeps " + keeps;
    case RunRole::kCandidate:
      break;
  }
  return "On " + verdict.run + ", the program would keep " + keeps;
}

std::string evidence(const Verdict& verdict, const Finding& finding) {
  const std::string bytes = part(verdict, finding.bytes);
  switch (finding.kind) {
    case FindingKind::kBesideMalloc:
      return finding.beside.text;
    case FindingKind::kHoles:
      return bytes + " is free between live blocks" + pins_text(finding);
    case FindingKind::kTrim:
      return "malloc_trim(0) would give back " + bytes;
    case FindingKind::kPurge:
      return "a purge would give back " + bytes;
    case FindingKind::kAllocator:
      return better_text(verdict, finding);
    case FindingKind::kPurged:
      return purged_text(verdict, finding);
    case FindingKind::kSlack:
      return bytes + " is slack: blocks are larger than what was requested";
    case FindingKind::kCaches:
      return bytes + " is kept in caches for reuse";
    case FindingKind::kMetadata:
      return bytes + " is the allocator's own: headers and tables";
    case FindingKind::kUnseen:
      return bytes + " is from before the recording: nobody can say what is in it";
    case FindingKind::kLive:
      return bytes + " is live" + live_site_text(finding) +
             ": another allocator cannot hold less than that";
    case FindingKind::kNothing:
      return nothing_text(finding);
    case FindingKind::kNoBetter:
      return no_better_text(finding);
  }
  return "";
}

std::string action(const Verdict& verdict, const Finding& finding, const std::string& tape) {
  switch (finding.kind) {
    case FindingKind::kBesideMalloc:
      return joined(finding.beside.remedies);
    case FindingKind::kHoles:
      return "allocate these before or apart from what is freed, or free them sooner; `heaptape "
             "holes " +
             tape + " -a " + verdict.run + " --at " + verdict.moment + "` lists them" +
             who_action(finding);
    case FindingKind::kTrim:
      return "call it when the program is idle; `heaptape replay " + tape + " --do trim@" +
             verdict.moment + "` tries it";
    case FindingKind::kPurge:
      return purge_action(verdict.family);
    case FindingKind::kAllocator:
      return try_action(finding);
    case FindingKind::kPurged:
      return try_action(finding) + "; " + purge_action(finding.family);
    case FindingKind::kSlack:
      return "request sizes that fit the allocator's classes; `heaptape stats " + tape +
             "` shows the sizes";
    case FindingKind::kLive:
      return "`heaptape stats " + tape + " --by site --at " + verdict.moment +
             "` names who asked for it, if there are call stacks";
    case FindingKind::kUnseen:
      return "record from the program's start to know";
    case FindingKind::kCaches:
    case FindingKind::kMetadata:
    case FindingKind::kNothing:
    case FindingKind::kNoBetter:
      break;
  }
  return "";
}

const char* kind_name(FindingKind kind) {
  constexpr const char* kNames[] = {"besideMalloc", "holes",   "trim",    "purge",    "allocator",
                                    "purged",       "slack",   "caches",  "metadata", "unseen",
                                    "live",         "nothing", "noBetter"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace heaptape::replayer
