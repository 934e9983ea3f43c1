// The timelines of a report as a page draws them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/report/html/json_writer.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::replayer {

// About so many values of all runs together, at most: what keeps a page small.
inline constexpr size_t kMostTimelineNumbers = 48'000;

// The samples that a chart of at most `most` points, or 4, draws: all, or the first, of each of so
// many stretches of equal length the lowest and the highest of `values`, and the last. Ascending.
std::vector<size_t> envelope(const std::vector<uint64_t>& values, size_t most);
size_t envelope_stretches(size_t most);

// An object. Of each series the points of the runs; those that are equal, as live bytes mostly are,
// are there once. `runs`: by run of the report, empty ones of those that failed.
void write_timelines(JsonWriter& out, const std::vector<schema::TimelineFigures>& runs,
                     size_t most_numbers = kMostTimelineNumbers);

}  // namespace heaptape::replayer
