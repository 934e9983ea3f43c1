// The timelines of a report for a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/report/html/json_writer.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::replayer {

// Approximate limit of values for all runs together, to keep a page small.
inline constexpr size_t kMostTimelineNumbers = 48'000;

// Picks samples for a chart of at most `most` points, or 4: all of them, or the first, the lowest
// and highest of `values` in each of some stretches of equal length, and the last. Ascending.
std::vector<size_t> envelope(const std::vector<uint64_t>& values, size_t most);
size_t envelope_stretches(size_t most);

// Writes an object with the points of the runs for each series; equal ones, as live bytes mostly
// are, are there once. `runs`: by run of the report, empty for failed runs.
void write_timelines(JsonWriter& out, const std::vector<schema::TimelineFigures>& runs,
                     size_t most_numbers = kMostTimelineNumbers);

}  // namespace heaptape::replayer
