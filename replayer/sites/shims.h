// Functions without a name that are a part of an allocation function. docs/metrics.md, "Sites".
#pragma once

#include <vector>

#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// By number of the frame: its function has no name, and was called by an allocation function of the
// same module, or by another one that this was said of. `symbols` must have all frames of `stacks`.
std::vector<bool> unnamed_shims(const schema::Stacks& stacks, const Symbols& symbols);

}  // namespace heaptape::replayer
