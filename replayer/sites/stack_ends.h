// How many calls have their whole stack, and why other stacks end early. docs/metrics.md, "Sites".
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "replayer/sites/stack_profile.h"
#include "schema/tape/stack.h"
#include "schema/tape/stack_end.h"

namespace heaptape::replayer {

// Calls that got a block, resizes included.
struct StackEnds {
  uint64_t whole = 0;
  uint64_t none = 0;                               // without a known stack
  std::array<uint64_t, schema::kStackEnds> cut{};  // by StackEnd
  // How many of all these have frames found by the frame pointer of a function that is not known to
  // keep one.
  uint64_t guessed = 0;
};

StackEnds count_stack_ends(const schema::Stacks& stacks, const StackProfile& profile);

// "stacks: 98.1% of calls whole, 1.9% too deep; 3.0% in part by frame pointers alone\n".
std::string stack_ends_text(const StackEnds& ends);

}  // namespace heaptape::replayer
