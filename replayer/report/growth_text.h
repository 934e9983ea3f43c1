// The result of the growth check, as a sentence for people.
#pragma once

#include <string>

#include "replayer/metrics/growth.h"

namespace heaptape::replayer {

// "free: cost grows as n^1.0 with the list length: 4,950 nodes skipped over 100 frees; quadratic
// overall". Empty unless the operation grows.
std::string growth_sentence(const GrowthFit& fit);

}  // namespace heaptape::replayer
