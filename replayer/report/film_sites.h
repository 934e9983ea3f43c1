// Who asked for the blocks of a heap over time: the sites that colour its picture.
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
  static constexpr uint8_t kNone = 0;   // not known, or the cell has no blocks
  static constexpr uint8_t kOther = 1;  // none of those below

  // Fit to print; the first is of the number kOther + 1. Those with most memory over the films.
  std::vector<std::string> names;
  std::unordered_map<uint64_t, uint8_t> by_birth;  // the number of the site; absent: kNone
};

// Of the films of these runs. Empty where there is none, or the stacks of the tape were sampled:
// then hardly any block has one. Reads the tape once more; it is at no particular place
// afterwards.
base::Result<FilmSites> film_sites(schema::TapeReader& tape, const std::vector<RunResult>& runs,
                                   const Sites& sites);

}  // namespace heaptape::replayer
