// Names for the sites of a tape in tables. docs/metrics.md, "Sites".
#pragma once

#include <string>
#include <vector>

#include "replayer/sites/sites.h"

namespace heaptape::replayer {

// The short_frame_text of each; if several sites share one, with as much more of the function, file
// or module as tells them apart. Fit to print. Empty for a site without a place.
std::vector<std::string> site_names(const std::vector<Site>& sites);

// " (initializer)" if the function is not known, because the library identifies it; else empty.
std::string initialiser_text(const Site& site);

}  // namespace heaptape::replayer
