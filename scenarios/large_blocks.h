// Large blocks that come and go: what a cache of freed mappings is for. docs/scenarios/ has a page
// for each.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// calloc and free of one size, again and again.
Scenario calloc_loop_scenario();

// Rounds of blocks of different sizes, freed in the order in which they were allocated.
Scenario ring_mix_scenario();

}  // namespace heaptape::scenarios
