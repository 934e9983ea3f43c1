// Memory of owners that only some of the compared reports have.
#pragma once

#include <vector>

#include "replayer/diff/diff.h"

namespace heaptape::replayer {

// Gives each run 0 bytes of the owners that others have in the same state and it has not. A run
// without any owner in that state stays without: it is of an older tape, and lacks the figures.
void add_absent_owners(std::vector<NamedReport>& bases, NamedReport& now);

}  // namespace heaptape::replayer
