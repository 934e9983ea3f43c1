// The heap of each run over time, packed for the page. docs/metrics.md, "The heap over time".
#pragma once

#include <cstddef>
#include <vector>

#include "replayer/engine/replay.h"
#include "replayer/report/film_sites.h"
#include "replayer/report/html/json_writer.h"

namespace heaptape::replayer {

// Writes null if no run has a film. Otherwise
//   {"sites": [name...], "closeSites": [name...], "runs": [null, or {"label", "events",
//     "cellBytes", "knowsAbsent", "offered", "at": [call...], "stretches": [[address, cells]...],
//     "sums", "items", "packed", "closeups"}...]}
// Addresses are strings of hexadecimal digits. The last four are base 64 of gzip.
// `packed`: planes with a byte for each cell of each frame, frame after frame, cells by address,
// each byte XORed with that of the previous frame. The planes are
// - the live part of the cell, the free resident part, and the free nonresident part: three planes,
//   in 31sts, at least 1 for a nonzero part;
// - the mean birth, in 255ths of all calls; the mean size, in quarters of its power of two;
// - the site number of FilmSites: only if there are names.
// `sums`: JSON text, the columns of FilmSums by frame: {"live", "blocks", "freeResident",
// "freeAbsent"}.
// `items`: JSON text, the columns of FilmItem by address: {"begin", "bytes", "birth", "asked",
// "first", "last"}, addresses as strings, frames by number; `birth` 0 is a hole.
// `closeups`: that of closeup_data.h; `closeSites` has the names of its sites.
//
// Without close-ups all runs together take about `most_bytes`: a film that does not fit gets cells
// of twice the size or half the frames until it does.
void write_films(JsonWriter& out, const std::vector<RunResult>& runs, const FilmSites& sites,
                 size_t most_bytes);

}  // namespace heaptape::replayer
