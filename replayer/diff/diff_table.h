// The text of a ReportDiff in tables for people, in any format.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "replayer/diff/diff.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {

// A heading and the first `rows` metrics: name, base, new, change, change in percent.
std::vector<TableRow> diff_table(const RunDiff& run, size_t rows);
// The sites that changed most: the rows of the table that have a name.
std::span<const SiteChange> shown_sites(const SiteChanges& changes);
// A heading, these sites, the others and the total: site, base, new, change.
std::vector<TableRow> diff_table(const SiteChanges& changes);

// A heading, the sizes that changed most, the others and the total: size, blocks in base and new,
// change in bytes, the allocating calls.
std::vector<TableRow> diff_table(const CohortChanges& changes);
// For a change in percent that equal replays may differ by.
inline constexpr const char* kNoise = "noise";
inline constexpr const char* kNoiseNote =
    "noise: equal replays may differ as much; replay both sides with --repeat 5 to know";
// Whether one of the first `rows` metrics of the run is marked so.
bool has_noise(const RunDiff& run, size_t rows);
// One row of the table of metrics.
TableRow diff_row(const MetricRow& row);

// For each failed gate about holes, or about memory that includes holes, the sites of the blocks
// beside them, if known, and these blocks: a heading, and a table as above.
struct PinTable {
  std::string heading;
  std::vector<TableRow> rows;
};
std::vector<PinTable> pin_tables(const ReportDiff& diff);

// Why gates failed, as far as the reports tell: sentences that name sites, then blocks. Empty if
// none failed.
std::vector<std::string> reasons_text(const ReportDiff& diff);
// The same for one gate.
std::vector<std::string> reasons_text(const ReportDiff& diff, const GateOutcome& gate);

// "main.json  (tape run.tape, 1,000 events)"
std::string side_text(const ReportDiff::Side& side);
const char* state_text(GateState state);  // "PASS", "FAIL", "SKIP"

}  // namespace heaptape::replayer
