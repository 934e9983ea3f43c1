// The spread of a run's figures over its repeats. Includes generated code. Call this inside
// guard_kj.
#pragma once

#include <vector>

#include "replayer/metrics/run_metrics.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// Fills `out` with the metrics that differ between `repeats`; with nothing if there are fewer than
// two. Omits metrics that are places, or the least or greatest of the repeats.
void set_spreads(schema::wire::Run::Builder out, const std::vector<RunMetrics>& repeats);

}  // namespace heaptape::replayer
