// What tables for people say of a ReportDiff, in whatever form they come.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "replayer/report/diff.h"
#include "replayer/report/text_table.h"

namespace heaptape::replayer {

// A heading and the first `rows` metrics: name, base, new, change, change in percent.
std::vector<TableRow> diff_table(const RunDiff& run, size_t rows);
// Those that changed most: the rows of the table that have a name.
std::span<const SiteChange> shown_sites(const SiteChanges& changes);
// A heading, these sites, the others and the total: site, base, new, change, share.
std::vector<TableRow> diff_table(const SiteChanges& changes);

const char* state_text(GateState state);  // "PASS", "FAIL", "SKIP"

}  // namespace heaptape::replayer
