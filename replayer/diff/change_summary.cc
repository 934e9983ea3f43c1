#include "replayer/diff/change_summary.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kLeastBytes = uint64_t{64} << 10;
constexpr uint64_t kLeastPart = 100;  // a hundredth
// The first of those that changed equally.
constexpr const char* kStates[] = {"atPlateau", "atExit", "atPeak", "end"};

struct Part {
  const char* kind;
  const char* figure;  // of a state
  const char* words;
};
constexpr Part kParts[] = {
    {"live", "liveBytes", "live"},
    {"holes", "account.holeBytes", "free between live blocks"},
    {"top", "account.topBytes", "free at the ends of regions"},
    {"caches", "account.cachedBytes", "kept in caches for reuse"},
    {"slack", "slackBytes", "slack of blocks beyond their requests"},
    {"metadata", "account.metadataBytes", "the allocator's own"},
    {"unseen", "account.late.unseenBytes", "from before the recording"},
};

// Sums of hostile figures fit as well.
int64_t bounded(long double number) {
  constexpr long double kMost = uint64_t{1} << 53;
  return static_cast<int64_t>(std::clamp(number, -kMost, kMost));
}

int64_t signed_bytes(const std::optional<schema::MetricValue>& value) {
  return value ? bounded(schema::number_of(*value)) : 0;
}

// 0 for what equal replays may differ by.
int64_t change_of_bytes(const RunDiff& run, const std::string& metric) {
  const MetricRow* const row = run.find(metric);
  return row == nullptr || row->is_noise() ? 0 : bounded(run.change_of(metric));
}

uint64_t size_of(int64_t change) {
  return static_cast<uint64_t>(std::abs(change));
}

std::string signed_text(int64_t change) {
  return (change < 0 ? "-" : "+") + base::bytes_text(size_of(change));
}

const MetricRow* resident(const RunDiff& run, const std::string& state) {
  const MetricRow* const row = run.find(state + ".residentBytes");
  return row != nullptr && row->base && row->now ? row : nullptr;
}

// The state whose resident bytes changed most; null if the run has none.
const char* chosen_state(const RunDiff& run) {
  const char* chosen = nullptr;
  uint64_t most = 0;
  for (const char* const state : kStates) {
    if (resident(run, state) == nullptr) continue;
    const uint64_t size = size_of(change_of_bytes(run, std::string(state) + ".residentBytes"));
    if (chosen != nullptr && size <= most) continue;
    chosen = state;
    most = size;
  }
  return chosen;
}

const RunDiff* chosen_run(std::span<const RunDiff> runs, const std::string& preferred) {
  const RunDiff* chosen = nullptr;
  for (const RunDiff& run : runs) {
    if (chosen_state(run) == nullptr) continue;
    if (run.label == preferred) return &run;
    if (chosen == nullptr) chosen = &run;
  }
  return chosen;
}

template <typename Changes>
bool changed_as(const Changes& changes, int64_t change) {
  return change > 0 ? changes.now > changes.base : changes.now < changes.base;
}

// The functions whose live bytes came or went, else the sizes of blocks.
std::string live_text(const std::string& state, int64_t change, std::span<const SiteChanges> sites,
                      std::span<const CohortChanges> cohorts) {
  const bool is_late = state == "atExit" || state == "end";
  const auto site =
      std::ranges::find(sites, is_late ? "liveBytes" : "peakBytes", &SiteChanges::name);
  if (site != sites.end() && changed_as(*site, change)) return culprit_text(*site);
  const auto blocks = std::ranges::find(cohorts, is_late ? "end" : "peak", &CohortChanges::moment);
  if (blocks != cohorts.end() && changed_as(*blocks, change)) return blocks_text(*blocks);
  return "";
}

std::string holes_text(const RunDiff& run, const std::string& state, int64_t change) {
  for (const CohortChanges& pins : run.pins) {
    const bool is_then = std::ranges::find(pins.states, state) != pins.states.end();
    if (!is_then || !changed_as(pins, change)) continue;
    const std::string site =
        pins.sites && changed_as(*pins.sites, change) ? culprit_text(*pins.sites) : "";
    return site.empty() ? pins_text(pins) : site;
  }
  return "";
}

// The owner beside malloc that changed most, and all of them.
std::string beside_text(const RunDiff& run, const std::string& state, int64_t& sum) {
  const std::string prefix = state + std::string(schema::kOwnersInfix);
  std::string most;
  int64_t most_change = 0;
  for (const MetricRow& row : run.rows) {
    if (!row.name.starts_with(prefix)) continue;
    const int64_t change = signed_bytes(row.now) - signed_bytes(row.base);
    sum += change;
    if (size_of(change) <= size_of(most_change)) continue;
    most_change = change;
    most = row.name.substr(prefix.size());
    most.resize(most.size() - std::min(most.size(), schema::kOwnerSuffix.size()));
  }
  if (most.empty()) return "";
  return most + " has " + base::bytes_text(size_of(most_change)) +
         (most_change < 0 ? " less" : " more");
}

// Against a part that grew.
std::string action_on(const std::string& kind) {
  if (kind == "live") return "keep less of it, or free it sooner";
  if (kind == "holes") {
    return "allocate what pins them before or apart from what is freed, or free it sooner";
  }
  if (kind == "top" || kind == "caches") {
    return "have the allocator give it back: `heaptape explain` on the new tape says how";
  }
  return "";
}

std::string headline_of(const RunDiff& run, const std::string& state, const MetricRow& row) {
  const std::string moment = moment_of_state(state);
  const bool has_base = run.base_label != run.label;
  const std::string base_name = has_base ? run.base_label : "in the base";
  const int64_t change = signed_bytes(row.now) - signed_bytes(row.base);
  const auto now = static_cast<uint64_t>(signed_bytes(row.now));
  const auto before = static_cast<uint64_t>(signed_bytes(row.base));
  const std::string text = run.label + " keeps " + base::bytes_text(now) + " at the " + moment;
  if (change == 0) return text + ", as much as " + base_name + ".";
  if (row.is_noise()) {
    return text + "; " + base_name + " " + base::bytes_text(before) +
           ": equal replays may differ as much.";
  }
  const auto share = percent_change(*row.base, *row.now);
  const std::string percent =
      share ? base::format_text(std::fabs(*share) < 1 ? "%.1f%%" : "%.0f%%", std::fabs(*share))
            : "from 0";
  return text + ", " + base::bytes_text(size_of(change)) + " (" + percent + ") " +
         (change > 0 ? "more" : "less") + " than " + base_name + ".";
}

}  // namespace

std::string ChangeSummary::text() const {
  if (headline.empty()) return "";
  std::string lines = headline + "\n";
  for (const ChangedPart& part : parts) {
    lines += "  " + part.text + "\n";
    if (!part.action.empty()) lines += "    " + part.action + "\n";
  }
  return lines;
}

std::string ChangedPart::line() const {
  return action.empty() ? text : text + "; " + action;
}

ChangeSummary summarize(const schema::ReportFigures& base, const schema::ReportFigures& now,
                        std::span<const RunDiff> runs, std::span<const SiteChanges> sites,
                        std::span<const CohortChanges> cohorts) {
  const RunDiff* const run = chosen_run(runs, now.verdict_run);
  if (run == nullptr) return {};
  const std::string state = chosen_state(*run);
  const MetricRow& held = *resident(*run, state);
  ChangeSummary summary{headline_of(*run, state, held), run->label, state, {}};
  const auto greater =
      static_cast<uint64_t>(std::max(signed_bytes(held.base), signed_bytes(held.now)));
  const uint64_t least = std::max(kLeastBytes, greater / kLeastPart);
  const auto add = [&](const char* kind, int64_t change, const std::string& words,
                       const std::string& who) {
    if (size_of(change) < least) return;
    summary.parts.push_back({kind, change,
                             signed_text(change) + " " + words + (who.empty() ? "" : ": " + who),
                             change > 0 ? action_on(kind) : ""});
  };
  for (const Part& part : kParts) {
    const std::string kind = part.kind;
    int64_t change = change_of_bytes(*run, state + "." + part.figure);
    if (kind == "live") change -= change_of_bytes(*run, state + ".account.untouchedBytes");
    add(part.kind, change, part.words,
        kind == "live"    ? live_text(state, change, sites, cohorts)
        : kind == "holes" ? holes_text(*run, state, change)
                          : "");
  }
  int64_t beside = 0;
  const std::string owner = beside_text(*run, state, beside);
  const std::string moment = moment_of_state(state);
  if (base.process_near(moment) != nullptr && now.process_near(moment) != nullptr) {
    add("besideMalloc", beside, "beside malloc", owner);
  }
  std::ranges::stable_sort(summary.parts, std::greater(),
                           [](const ChangedPart& part) { return size_of(part.bytes); });
  return summary;
}

}  // namespace heaptape::replayer
