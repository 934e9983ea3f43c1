// Merges several reports of one program into one base, to measure noise. docs/metrics.md, "Noise".
#pragma once

#include <vector>

#include "replayer/diff/diff.h"

namespace heaptape::replayer {

// The last report, with medians over all reports as its figures (the lower of the two middle values
// of an even number), and with spreads from the least to the greatest. Merges each run from the
// reports in which it succeeded. Requires at least one report.
NamedReport merged_base(std::vector<NamedReport> reports);

}  // namespace heaptape::replayer
