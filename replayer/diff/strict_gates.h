// The gates of `heaptape diff --strict`. docs/howto-ci.md explains each.
#pragma once

#include <vector>

#include "replayer/diff/gate.h"

namespace heaptape::replayer {

// Equal runs pass them: `./dev bench gates` measures that. Each is optional: skipped if one of the
// two runs lacks the metric.
std::vector<Gate> strict_gates();

}  // namespace heaptape::replayer
