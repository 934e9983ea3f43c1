// `heaptape stats --by site`.
#pragma once

#include "cli/commands.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

// `tape` must be at its beginning. Returns the exit code.
base::Result<int> print_sites(schema::TapeReader& tape, const StatsOptions& options,
                              Console& console);

}  // namespace heaptape::cli
