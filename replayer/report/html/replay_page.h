// What `heaptape replay --html` writes. docs/howto-html.md.
#pragma once

#include <string>
#include <vector>

#include "replayer/engine/replay.h"
#include "replayer/report/film_sites.h"
#include "replayer/report/report_builder.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// One file, at most about a megabyte for ten runs. `runs` are those of the report, and `sites`
// those of the tape, null where it has none. Every figure is the report's, but those of the heaps
// over time, which are drawn from the runs' films.
std::string replay_page(const schema::TapeReader& tape, const BuiltReport& report,
                        const std::vector<RunResult>& runs, const RankedSites* sites,
                        const FilmSites& films);

}  // namespace heaptape::replayer
