// Which large blocks glibc maps, and how that changes with what was freed before.
// docs/scenarios/mmap-threshold.md.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

Scenario mmap_threshold_scenario();

}  // namespace heaptape::scenarios
