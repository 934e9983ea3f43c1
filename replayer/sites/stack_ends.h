// How many calls have their whole stack, and why others end early. docs/metrics.md, "Sites".
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
  uint64_t none = 0;                               // of no known stack
  std::array<uint64_t, schema::kStackEnds> cut{};  // by StackEnd
  // Of all these: with frames that were found by the frame pointer of a function of which nothing
  // says that it keeps one.
  uint64_t guessed = 0;
};

StackEnds count_stack_ends(const schema::Stacks& stacks, const StackProfile& profile);

// "stacks: 98.1% of calls whole, 1.9% too deep; 3.0% in part by frame pointers alone\n".
std::string stack_ends_text(const StackEnds& ends);

}  // namespace heaptape::replayer
