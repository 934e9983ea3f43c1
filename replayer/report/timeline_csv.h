// The timeline of a report as CSV.
#pragma once

#include <string>

#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// A heading, and a line for each run and sample; the columns are the fields of Timeline in
// report.capnp. Call it inside guard_kj.
std::string timeline_csv(schema::wire::Report::Reader report);

}  // namespace heaptape::replayer
