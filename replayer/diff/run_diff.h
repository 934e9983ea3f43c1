// The figures of one run in two reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "replayer/diff/cohort_diff.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

struct MetricRow {
  std::string name;
  schema::MetricUnit unit = schema::MetricUnit::kCount;
  std::optional<schema::MetricValue> base;  // at least one of the two is present
  std::optional<schema::MetricValue> now;
  std::optional<schema::Spread> base_spread = {};  // if equal replays differed
  std::optional<schema::Spread> now_spread = {};

  // Equal replays may differ as much: the spreads have a value in common, or it is a time of which
  // no spread is known. False for figures that did not change.
  bool is_noise() const;
};

struct RunDiff {
  std::string label;
  std::string base_label;          // of the base's run: differs only with a baseline
  std::vector<std::string> notes;  // sentences: other differences between the two runs
  std::vector<MetricRow> rows;     // every metric of either run
  size_t table_rows = 0;           // tables for people show this many, from the first
  // The blocks beside holes, in each state that both runs have and that changed.
  std::vector<CohortChanges> pins = {};

  // Null if neither run has it.
  const MetricRow* find(const std::string& metric) const;
  // From the base's figure to the new one; 0 unless both runs have it.
  double change_of(const std::string& metric) const;
};

}  // namespace heaptape::replayer
