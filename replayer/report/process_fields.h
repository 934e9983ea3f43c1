// The recorded process as the fields of report.capnp. Includes generated code: only for .cc files
// that build reports. Call these inside guard_kj.
#pragma once

#include <vector>

#include "schema/report/report.capnp.h"
#include "schema/tape/event.h"

namespace heaptape::replayer {

void set_process(schema::wire::SampledProcess::Builder out, const schema::ProcessSample& process);

inline constexpr size_t kMostListedOwners = 24;  // of a timeline

// `samples`: of a tape, by time, each with malloc's part; at least one.
void set_process_timeline(schema::wire::ProcessTimeline::Builder out,
                          const std::vector<schema::ProcessSample>& samples);

}  // namespace heaptape::replayer
