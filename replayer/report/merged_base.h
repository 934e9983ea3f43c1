// Several reports of one program as one base: what equal runs differ by. docs/metrics.md, "Noise".
#pragma once

#include <vector>

#include "replayer/report/diff.h"

namespace heaptape::replayer {

// The last report, with the medians of all reports as its figures (of an even number the smaller of
// the two in the middle), and with spreads from the least to the greatest. A run is
// merged from those reports in which it did not fail. `reports`: at least one.
NamedReport merged_base(std::vector<NamedReport> reports);

}  // namespace heaptape::replayer
