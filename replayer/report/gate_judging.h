// One gate over all runs that a diff compares.
#pragma once

#include <utility>
#include <vector>

#include "replayer/report/gate.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

using RunPair = std::pair<const schema::RunFigures*, const schema::RunFigures*>;  // base, now

// An outcome for each pair. Runs of two labels need not have the same figures, and from what the
// recorded run had resident to what a replay has there is no change: there the gate is skipped. It
// fails on all pairs where none can tell, unless it is optional.
std::vector<GateOutcome> judge(const Gate& gate, const std::vector<RunPair>& pairs);

// A failure for each run of the base that has the metric and that the new report lacks: a gate on a
// run that is gone must not pass.
std::vector<GateOutcome> judge_lost_runs(const Gate& gate,
                                         const std::vector<schema::RunFigures>& base,
                                         const std::vector<schema::RunFigures>& now);

}  // namespace heaptape::replayer
