// Writes the page of `heaptape diff --html`. docs/howto-html.md, "Two reports".
#pragma once

#include <string>

#include "replayer/diff/diff.h"

namespace heaptape::replayer {

// Returns one file. Compares stacks if both reports have them; of several bases, the last one's.
std::string diff_page(const ReportDiff& diff, const NamedReport& base, const NamedReport& now);

}  // namespace heaptape::replayer
