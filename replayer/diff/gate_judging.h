// Evaluates one gate for all runs that a diff compares.
#pragma once

#include <utility>
#include <vector>

#include "replayer/diff/gate.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

using RunPair = std::pair<const schema::RunFigures*, const schema::RunFigures*>;  // base, now

// An outcome for each pair. Skips the gate if the two runs have different labels (a baseline) and
// one lacks the figure, or if it asks for a change of resident memory from the recorded run to a
// replay. Unless it is optional, it fails for all pairs if it can be evaluated for none.
std::vector<GateOutcome> judge(const Gate& gate, const std::vector<RunPair>& pairs);

// A failure for each run of the base that has the metric and that the new report lacks: a gate for
// a missing run must not pass.
std::vector<GateOutcome> judge_lost_runs(const Gate& gate,
                                         const std::vector<schema::RunFigures>& base,
                                         const std::vector<schema::RunFigures>& now);

}  // namespace heaptape::replayer
