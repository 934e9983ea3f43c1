// Stacks as flamegraph.pl and its like take them: a line for each stack, "outer;inner 4096".
#pragma once

#include <string>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// Functions without lines; stacks that have no value are left out. Semicolons in names become
// colons. Sorted by name.
std::string folded_text(const ShownStacks& stacks, StackValue value);

}  // namespace heaptape::replayer
