// Close-ups of a run's heap for the page. docs/metrics.md, "Close-ups".
#pragma once

#include <string>
#include <vector>

#include "replayer/answers/closeup.h"
#include "replayer/report/film_sites.h"

namespace heaptape::replayer {

// JSON text:
//   [{"at", "parts": [{"begin", "end", "origin", "blocks", "holes"}...]}...]
// Addresses are strings of hexadecimal digits. `blocks` and `holes` have columns, by address. The
// first `step` is from `origin`, others from the address before.
//   blocks: {"step", "usable", "asked", "birth", "site"}: `site` from 1, of
//     FilmSites::close_names; 0 if not known
//   holes: {"step", "bytes", "resident", "freed", "before", "after"}: `freed`, the number of the
//     call, is 0 if not known; `before` and `after` are numbers of blocks, from 1; 0 for none
std::string closeups_json(const std::vector<Closeup>& closeups, const FilmSites& sites);

}  // namespace heaptape::replayer
