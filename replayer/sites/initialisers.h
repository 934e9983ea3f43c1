// Functions that the loader calls before main, or when it opens a library. docs/metrics.md,
// "Sites".
#pragma once

#include <vector>

#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// By frame number: whether the dynamic loader called it and it is in another module. `symbols` must
// have all frames of `stacks`.
std::vector<bool> initialisers(const schema::Stacks& stacks, const Symbols& symbols);

}  // namespace heaptape::replayer
