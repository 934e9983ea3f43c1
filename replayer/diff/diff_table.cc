#include "replayer/diff/diff_table.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <string>

#include "base/number_text.h"
#include "replayer/sites/site_names.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kShownSites = 10;
constexpr size_t kShownSizes = 5;

// Tells functions with the same short name apart.
std::vector<std::string> names_of(std::span<const SiteChange> shown) {
  std::vector<CodePlace> places;
  for (const SiteChange& site : shown) {
    places.push_back({"", 0, {{site.place.function, site.place.file, site.place.line}}});
  }
  std::vector<Site> sites;
  for (const CodePlace& place : places) {
    const SourceFrame& source = place.source.front();
    sites.push_back({source.function.empty() ? nullptr : &place, &source});
  }
  std::vector<std::string> names = site_names(sites);
  for (size_t i = 0; i < shown.size(); ++i) {
    if (names[i].empty()) names[i] = short_text(shown[i].place);
  }
  return names;
}

// Picks the change that a gate is about or closest to: bytes at the end or at the peak.
bool is_at_end(const GateOutcome& gate) {
  return gate.metric.starts_with("end.") || gate.metric.starts_with("atExit.");
}

// "atPlateau" for "atPlateau.holes.bytes". The moment closest to peaks of one figure is "atPeak".
std::string state_of_gate(const GateOutcome& gate) {
  const std::string first = gate.metric.substr(0, gate.metric.find('.'));
  return first == "peak" ? "atPeak" : first;
}

bool is_about_holes(const std::string& metric) {
  constexpr const char* kWords[] = {"hole", "Hole", "fragmentation", "Fragmentation",
                                    "distanceToIdeal"};
  return std::ranges::any_of(
      kWords, [&metric](const char* word) { return metric.find(word) != metric.npos; });
}

// Not about their bytes.
bool is_about_number_of_holes(const std::string& metric) {
  return metric.find(".holes.") != metric.npos && !metric.ends_with(".holes.bytes");
}

// Change of the bytes that include holes: for the two shares, committed bytes that are not live.
double change_of_memory(const RunDiff& run, const std::string& metric) {
  if (!metric.ends_with("ragmentation") && !metric.ends_with("distanceToIdeal")) {
    return run.change_of(metric);
  }
  const std::string state = metric.substr(0, metric.rfind('.') + 1);
  return run.change_of(state + "committedBytes") - run.change_of(state + "liveBytes");
}

// The blocks beside the holes that the gate is about; null if holes are a small part of the change,
// or changed the other way.
const CohortChanges* pins_of(const ReportDiff& diff, const GateOutcome& gate) {
  if (!gate.base || !gate.now) return nullptr;
  const bool is_of_memory =
      gate.metric.ends_with("committedBytes") || gate.metric.ends_with("residentBytes");
  if (!is_about_holes(gate.metric) && !is_of_memory) return nullptr;
  const auto run = std::ranges::find(diff.runs, gate.run, &RunDiff::label);
  if (run == diff.runs.end()) return nullptr;
  const std::string state = state_of_gate(gate);
  const auto pins = std::ranges::find_if(run->pins, [&state](const CohortChanges& changes) {
    return std::ranges::find(changes.states, state) != changes.states.end();
  });
  if (pins == run->pins.end()) return nullptr;
  // The number or largest of the holes may have changed differently from their bytes.
  const bool is_of_bytes = is_of_memory || !is_about_number_of_holes(gate.metric);
  const double change = change_of_memory(*run, gate.metric);
  const double in_holes = static_cast<double>(pins->now) - static_cast<double>(pins->base);
  constexpr double kLeastPart = 0.25;
  if (change * in_holes <= 0) return nullptr;
  if (is_of_bytes && std::abs(in_holes) < kLeastPart * std::abs(change)) return nullptr;
  return &*pins;
}

std::string births_cell(const CohortChange& change) {
  if (change.first_birth == 0) return "";
  std::string first = (change.is_most ? "mostly #" : "#") + base::grouped(change.first_birth);
  if (change.first_birth == change.last_birth) return first;
  return first + " to #" + base::grouped(change.last_birth);
}

std::string change_cell(const SiteChange& site) {
  std::string text = change_text(site.base, site.now, schema::MetricUnit::kBytes);
  if (site.error() == 0) return text;
  const uint64_t bytes = std::max(site.base, site.now) - std::min(site.base, site.now);
  return (site.now < site.base ? "-" : "+") + base::estimated_bytes_text(bytes, site.error());
}

}  // namespace

TableRow diff_row(const MetricRow& row) {
  return {row.name, value_text(row.base, row.unit), value_text(row.now, row.unit),
          change_text(row.base, row.now, row.unit),
          row.is_noise() ? kNoise : percent_text(row.base, row.now)};
}

std::vector<TableRow> diff_table(const RunDiff& run, size_t rows) {
  std::vector<TableRow> table = {{"metric", "base", "new", "change", "%"}};
  for (size_t i = 0; i < rows; ++i) table.push_back(diff_row(run.rows[i]));
  return table;
}

std::span<const SiteChange> shown_sites(const SiteChanges& changes) {
  return std::span(changes.sites).first(std::min(kShownSites, changes.sites.size()));
}

std::vector<TableRow> diff_table(const SiteChanges& changes) {
  std::vector<TableRow> table = {{"site", "base", "new", "change"}};
  const auto add = [&](const std::string& name, const SiteChange& site) {
    table.push_back({name, base::estimated_bytes_text(site.base, site.base_error),
                     base::estimated_bytes_text(site.now, site.now_error), change_cell(site)});
  };
  const SiteChange total{{}, changes.base, changes.now, changes.base_error, changes.now_error};
  SiteChange others{{}, changes.base, changes.now};  // its error is not known
  const std::span<const SiteChange> shown = shown_sites(changes);
  const std::vector<std::string> names = names_of(shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    const SiteChange& site = shown[i];
    add(names[i], site);
    others.base -= std::min(others.base, site.base);
    others.now -= std::min(others.now, site.now);
  }
  if (others.base != 0 || others.now != 0) add("(others)", others);
  add("total", total);
  return table;
}

std::vector<TableRow> diff_table(const CohortChanges& changes) {
  std::vector<TableRow> table = {{"size", "blocks in base", "in new", "change", "requested"}};
  const auto add = [&](const std::string& name, const CohortChange& change) {
    table.push_back({name, base::grouped(change.base_count), base::grouped(change.now_count),
                     change_text(change.base_bytes, change.now_bytes, schema::MetricUnit::kBytes),
                     births_cell(change)});
  };
  CohortChange others;
  CohortChange total{.base_bytes = changes.base, .now_bytes = changes.now};
  for (size_t i = 0; i < changes.sizes.size(); ++i) {
    const CohortChange& change = changes.sizes[i];
    total.base_count += change.base_count;
    total.now_count += change.now_count;
    if (i < kShownSizes) {
      add(sizes_text(change), change);
      continue;
    }
    others.base_count += change.base_count;
    others.now_count += change.now_count;
    others.base_bytes += change.base_bytes;
    others.now_bytes += change.now_bytes;
  }
  if (others.base_count + others.now_count != 0) add("(other sizes that changed)", others);
  add("total", total);
  return table;
}

std::vector<std::string> reasons_text(const ReportDiff& diff, const GateOutcome& gate) {
  std::vector<std::string> reasons;
  if (gate.unit == schema::MetricUnit::kNs || !gate.base || !gate.now) return reasons;
  const auto blocks =
      std::ranges::find(diff.cohorts, is_at_end(gate) ? "end" : "peak", &CohortChanges::moment);
  const auto site = std::ranges::find(diff.sites, is_at_end(gate) ? "liveBytes" : "peakBytes",
                                      &SiteChanges::name);
  // Functions first, and first those that pin the holes that the gate is about.
  const CohortChanges* const pins = pins_of(diff, gate);
  const std::string pinning = pins != nullptr && pins->sites ? culprit_text(*pins->sites) : "";
  if (!pinning.empty()) reasons.push_back(gate.run + ": " + pinning);
  if (site != diff.sites.end()) reasons.push_back(culprit_text(*site));
  if (blocks != diff.cohorts.end()) reasons.push_back(blocks_text(*blocks));
  if (pins != nullptr && pinning.empty() && pins_text(*pins) != "") {
    reasons.push_back(gate.run + ": " + pins_text(*pins));
  }
  std::erase(reasons, "");
  return reasons;
}

bool has_noise(const RunDiff& run, size_t rows) {
  return std::ranges::any_of(std::span(run.rows).first(rows), &MetricRow::is_noise);
}

std::vector<PinTable> pin_tables(const ReportDiff& diff) {
  std::vector<PinTable> tables;
  std::set<const CohortChanges*> seen;
  for (const GateOutcome& gate : diff.gates) {
    const CohortChanges* const pins =
        gate.state == GateState::kFailed ? pins_of(diff, gate) : nullptr;
    if (pins == nullptr || !seen.insert(pins).second) continue;
    const std::string beside = "beside the holes of " + gate.run + ": ";
    if (pins->sites) {
      tables.push_back({beside + "sites that account for the change of " + pins->words,
                        diff_table(*pins->sites)});
    }
    tables.push_back(
        {beside + "blocks that account for the change of " + pins->words, diff_table(*pins)});
  }
  return tables;
}

std::vector<std::string> reasons_text(const ReportDiff& diff) {
  std::vector<std::string> reasons;
  for (const GateOutcome& gate : diff.gates) {
    if (gate.state != GateState::kFailed) continue;
    for (std::string& reason : reasons_text(diff, gate)) {
      if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(std::move(reason));
    }
  }
  return reasons;
}

std::string side_text(const ReportDiff::Side& side) {
  return side.path + "  (tape " + side.tape + ", " + base::counted(side.events, "event") + ")";
}

const char* state_text(GateState state) {
  switch (state) {
    case GateState::kPassed:
      return "PASS";
    case GateState::kFailed:
      return "FAIL";
    case GateState::kSkipped:
      break;
  }
  return "SKIP";
}

}  // namespace heaptape::replayer
