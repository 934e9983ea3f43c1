// Writes the page of `heaptape diff --html`. docs/howto-html.md, "Two reports".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/diff/diff.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::replayer {

// A report without its figures.
struct ReportSeries {
  std::optional<schema::StackTree> stacks;
  std::vector<schema::RunTimeline> timelines;
};

// Returns one file. Compares stacks if both reports have them.
std::string diff_page(const ReportDiff& diff, const ReportSeries& base, const ReportSeries& now);

}  // namespace heaptape::replayer
