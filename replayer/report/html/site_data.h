// The call sites of a tape for a page's table.
#pragma once

#include "replayer/report/html/json_writer.h"
#include "replayer/report/report_builder.h"

namespace heaptape::replayer {

// Writes an object: for the top sites by each value, their texts, their values as in `stats --by
// site`, and the names of their functions and modules in the tree of stacks.
void write_sites(JsonWriter& out, const RankedSites& sites);

}  // namespace heaptape::replayer
