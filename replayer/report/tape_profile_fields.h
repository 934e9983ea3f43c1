// Fills in sizes, lifetimes, resizes and threads for `stats --json` and reports.
#pragma once

#include "replayer/report/tape_stats.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// Call both inside guard_kj.
// `births` are those of named_births(), or null.
void set_profile(schema::wire::TapeStats::Builder stats, const TapeCounts& counts,
                 const CallSites* births);
// `live` must be from the same calls.
void set_program(schema::wire::ProgramInfo::Builder out, const ProgramProfile& program,
                 const LiveValues& live);

}  // namespace heaptape::replayer
