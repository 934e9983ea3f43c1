// A block of 232 bytes behind a long string, and the next string 339 bytes too large for the hole.
// docs/scenarios/sliver-pin.md.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

Scenario sliver_pin_scenario();

}  // namespace heaptape::scenarios
