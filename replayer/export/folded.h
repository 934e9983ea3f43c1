// Stacks for flamegraph.pl and similar tools: a line for each stack, "outer;inner 4096".
#pragma once

#include <string>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// Functions without lines; omits stacks without a value. Semicolons in names become colons. Sorted
// by name.
std::string folded_text(const ShownStacks& stacks, StackValue value);

}  // namespace heaptape::replayer
