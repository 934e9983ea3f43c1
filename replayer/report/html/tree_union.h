// Gives two trees of stacks one shape, to compare them node by node.
#pragma once

#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// Both have the same frames, nodes and names of pins: those with a label and a moment that both
// trees had. A node that a tree lacked is 0 in it.
struct TreeUnion {
  schema::StackTree base;
  schema::StackTree now;
};

// Functions are equal if name, module and file are: lines move from build to build.
TreeUnion unite(const schema::StackTree& base, const schema::StackTree& now);

}  // namespace heaptape::replayer
