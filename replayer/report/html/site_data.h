// The call sites of a tape as a page's table has them.
#pragma once

#include "replayer/report/html/json_writer.h"
#include "replayer/report/report_builder.h"

namespace heaptape::replayer {

// An object: of the sites that have most, by each value, their texts and values, which are those of
// `stats --by site`, and by which names the functions and modules are in the tree of stacks.
void write_sites(JsonWriter& out, const RankedSites& sites);

}  // namespace heaptape::replayer
