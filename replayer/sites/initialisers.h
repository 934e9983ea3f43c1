// Functions that the loader calls before main, or when a library is opened. docs/metrics.md,
// "Sites".
#pragma once

#include <vector>

#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// By number of the frame: it is of another module than the dynamic loader, which called it.
// `symbols` must have all frames of `stacks`.
std::vector<bool> initialisers(const schema::Stacks& stacks, const Symbols& symbols);

}  // namespace heaptape::replayer
