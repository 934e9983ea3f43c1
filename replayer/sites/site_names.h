// What tables call the sites of a tape. docs/metrics.md, "Sites".
#pragma once

#include <string>
#include <vector>

#include "replayer/sites/sites.h"

namespace heaptape::replayer {

// As short_frame_text has each; and where that is the same of several sites, with as much more of
// the function, the file or the module as tells them apart. Fit to print. Of a site without a place
// an empty text.
std::vector<std::string> site_names(const std::vector<Site>& sites);

// " (initialiser)" of one whose function is not known, for the library says who asked; else empty.
std::string initialiser_text(const Site& site);

}  // namespace heaptape::replayer
