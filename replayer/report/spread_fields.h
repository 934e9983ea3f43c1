// How much the figures of a run differ from one of its repeats to the next. Pulls in generated
// code. Call this inside guard_kj.
#pragma once

#include <vector>

#include "replayer/metrics/run_metrics.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// Fills `out` with the metrics that are not the same in all of `repeats`; nothing where there are
// fewer than two, and without those that say where something was, or are the least and the greatest
// of the repeats.
void set_spreads(schema::wire::Run::Builder out, const std::vector<RunMetrics>& repeats);

}  // namespace heaptape::replayer
