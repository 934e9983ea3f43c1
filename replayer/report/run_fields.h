// The metrics of a run as the fields of report.capnp. Pulls in generated code: for the .cc files
// that build reports. Call these inside guard_kj.
#pragma once

#include "replayer/metrics/run_metrics.h"
#include "schema/report/report.capnp.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// Requires an imported tape.
void set_import(schema::wire::ImportFacts::Builder out, const schema::TapeOrigin& origin);

void set_peak(schema::wire::PeakValue::Builder out, const Peak& peak);

// All that `run` has. What names the run and its settings stays as it is.
void set_metrics(schema::wire::Run::Builder out, const RunMetrics& run);

}  // namespace heaptape::replayer
