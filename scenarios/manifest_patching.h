// The clone of a large repository with git-cinnabar 0.4, which left glibc holding three times the
// memory that was in use. docs/scenarios/manifest-patching.md.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

Scenario manifest_patching_scenario();

}  // namespace heaptape::scenarios
