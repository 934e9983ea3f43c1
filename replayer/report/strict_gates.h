// The gates of `heaptape diff --strict`. docs/howto-ci.md says what each is for.
#pragma once

#include <vector>

#include "replayer/report/gate.h"

namespace heaptape::replayer {

// What should alarm nobody where nothing changed: `./dev bench gates` measures that. Each is
// optional: where a run, or one of the reports, does not have the metric, it is skipped.
std::vector<Gate> strict_gates();

}  // namespace heaptape::replayer
