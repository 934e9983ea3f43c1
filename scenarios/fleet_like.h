// Sizes and lifetimes as published for the programs of a large fleet of servers.
// docs/scenarios/fleet-like.md.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

Scenario fleet_like_scenario();

}  // namespace heaptape::scenarios
