// Stacks for https://www.speedscope.app: its own format, a "sampled" profile for each value that
// stacks have.
#pragma once

#include <string>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

// JSON. `shown`: the value whose profile is shown first. `name`: the tape's.
std::string speedscope_json(const ShownStacks& stacks, StackValue shown, const std::string& name);

}  // namespace heaptape::replayer
