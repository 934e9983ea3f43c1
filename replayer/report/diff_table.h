// What tables for people say of a ReportDiff, in whatever form they come.
#pragma once

#include <cstddef>
#include <vector>

#include "replayer/report/diff.h"
#include "replayer/report/text_table.h"

namespace heaptape::replayer {

// A heading and the first `rows` metrics: name, base, new, change, change in percent.
std::vector<TableRow> diff_table(const RunDiff& run, size_t rows);
// A heading, the sites that changed most, the others and the total: site, base, new, change, share.
std::vector<TableRow> diff_table(const SiteChanges& changes);

const char* state_text(GateState state);  // "PASS", "FAIL", "SKIP"

}  // namespace heaptape::replayer
