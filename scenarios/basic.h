// The plain scenarios: what benchmarks and first questions need.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// `count` blocks of `size` bytes, allocated one after another and, with `free`, given back.
Scenario fill_scenario();

// Random mallocs and frees over a table of slots, half and half: the loop that recorders are timed
// with.
Scenario random_slots_scenario();

// One block, resized from size to size.
Scenario resize_scenario();

}  // namespace heaptape::scenarios
