// Fills in what `stats --json` and reports say of sizes, lifetimes, resizes and threads.
#pragma once

#include "replayer/report/tape_stats.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// Call both inside guard_kj.
// `births`: of named_births(), or null.
void set_profile(schema::wire::TapeStats::Builder stats, const TapeCounts& counts,
                 const CallSites* births);
// `live`: of the same calls.
void set_program(schema::wire::ProgramInfo::Builder out, const ProgramProfile& program,
                 const LiveValues& live);

}  // namespace heaptape::replayer
