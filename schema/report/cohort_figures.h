// A report's blocks by size and birth: those alive at a moment of the tape, and those beside holes
// in a run. docs/metrics.md, "Cohorts". Free of Cap'n Proto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::schema {

struct CohortFigures {
  // Requested size of each block. Sizes that are not listed individually share an entry, which has
  // their minimum; all are less than twice that. 0 means all the rest.
  uint64_t size_bytes = 0;
  bool is_other_sizes = false;
  uint32_t window = 0;  // of equal parts of the run, from 0
  uint64_t count = 0;
  uint64_t bytes = 0;        // of the blocks, or of the holes beside them
  uint64_t first_birth = 0;  // numbers of calls, from 1
  uint64_t last_birth = 0;
};

struct LiveCohorts {
  std::vector<CohortFigures> peak;  // alive at the peak of live bytes
  std::vector<CohortFigures> end;
};

// For one run after one call. A hole between two blocks counts half for each.
struct PinCohorts {
  std::vector<std::string> states;  // at that call: some of "atPeak", "atPlateau", "atExit", "end"
  std::vector<CohortFigures> cohorts;
};

}  // namespace heaptape::schema
