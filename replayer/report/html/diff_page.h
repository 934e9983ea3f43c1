// What `heaptape diff --html` writes. docs/howto-html.md, "Two reports".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replayer/report/diff.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::replayer {

// What a report has beside its figures.
struct ReportSeries {
  std::optional<schema::StackTree> stacks;
  std::vector<schema::RunTimeline> timelines;
};

// One file. Stacks are compared where both reports have them.
std::string diff_page(const ReportDiff& diff, const ReportSeries& base, const ReportSeries& now);

}  // namespace heaptape::replayer
