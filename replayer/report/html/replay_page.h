// Writes the page of `heaptape replay --html`. docs/howto-html.md.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "replayer/report/film_sites.h"
#include "replayer/report/report_builder.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Returns one file, at most about a megabyte for ten runs. `runs` must belong to the report, and
// `sites` to the tape, null if it has none. Every figure is from the report, except the heaps over
// time, which come from the runs' films.
std::string replay_page(const schema::TapeReader& tape, const BuiltReport& report,
                        const std::vector<RunResult>& runs, const RankedSites* sites,
                        const FilmSites& films);

}  // namespace heaptape::replayer
