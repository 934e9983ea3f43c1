// The sites with the most of each value of a tape. docs/metrics.md, "Sites".
#pragma once

#include <string>

#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// For each value, the first few sites with any of it, with their shares of the whole tape.
std::string top_sites_text(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
