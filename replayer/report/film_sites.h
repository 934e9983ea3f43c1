// The sites that color the picture of a heap over time, and those of blocks in close-ups.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

struct FilmSites {
  static constexpr uint8_t kNone = 0;   // unknown, or the cell has no blocks
  static constexpr uint8_t kOther = 1;  // not one of the names below

  // Fit to print; the first has number kOther + 1. The sites with most memory over the films.
  std::vector<std::string> names;
  std::unordered_map<uint64_t, uint8_t> by_birth;  // site number; absent: kNone

  // Those of blocks in close-ups, fit to print. The first has number 1; absent: not known.
  std::vector<std::string> close_names;
  std::unordered_map<uint64_t, uint32_t> close_by_birth;
};

// For the films and close-ups of these runs. Has no sites for films if the stacks of the tape were
// sampled: then hardly any block has a site. Rereads the tape; its reader then has no particular
// place.
base::Result<FilmSites> film_sites(schema::TapeReader& tape, const std::vector<RunResult>& runs,
                                   const Sites& sites);

}  // namespace heaptape::replayer
