// Several reports of one program as one base: what equal runs differ by. docs/metrics.md, "Noise".
#pragma once

#include <vector>

#include "replayer/report/diff.h"

namespace heaptape::replayer {

// The last report, with the medians of all for its figures (of an even number the smaller one in
// the middle), and spreads from the least to the greatest of them. A run that failed in a report
// counts there for nothing; a run that only some have counts in those. `reports`: at least one.
NamedReport merged_base(std::vector<NamedReport> reports);

}  // namespace heaptape::replayer
