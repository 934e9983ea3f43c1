// Two trees of stacks as one shape, to be compared node by node.
#pragma once

#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// Both have the same frames, nodes and names of pins: those with a label and a moment that both
// trees had. A node that a tree did not have is 0 in it.
struct TreeUnion {
  schema::StackTree base;
  schema::StackTree now;
};

// Functions are the same by name, module and file: lines move from build to build.
TreeUnion unite(const schema::StackTree& base, const schema::StackTree& now);

}  // namespace heaptape::replayer
