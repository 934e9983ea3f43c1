// Who had most of what a tape is counted for. docs/metrics.md, "Sites".
#pragma once

#include <string>

#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// Of each value the first few sites that have any of it, with their shares of the whole tape.
std::string top_sites_text(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
