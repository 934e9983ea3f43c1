// Functions without a name inside an allocation function. docs/metrics.md, "Sites".
#pragma once

#include <vector>

#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// By frame number: whether its function has no name, and its caller is an allocation function or
// another shim in the same module. `symbols` must have all frames of `stacks`.
std::vector<bool> unnamed_shims(const schema::Stacks& stacks, const Symbols& symbols);

}  // namespace heaptape::replayer
