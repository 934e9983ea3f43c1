// The gates of `heaptape diff --strict`. docs/howto-ci.md says what each is for.
#pragma once

#include <vector>

#include "replayer/report/gate.h"

namespace heaptape::replayer {

// Equal runs pass them: `./dev bench gates` measures that. Each is optional: it is skipped where
// one of the two runs does not have the metric.
std::vector<Gate> strict_gates();

}  // namespace heaptape::replayer
