// Merges the stacks of a tape into one tree. docs/metrics.md, "Flame graphs".
#pragma once

#include <cstddef>
#include <vector>

#include "replayer/export/shown_stacks.h"
#include "replayer/sites/pinned_stacks.h"
#include "replayer/sites/site_table.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

using FrameTree = schema::StackTree;
using schema::StackValues;  // by StackValue

struct TreeLimits {
  double least_share = 0.0005;
  // Roughly the most bytes as text: a larger tree has more of its nodes merged.
  size_t most_bytes = 250'000;
};

// Includes what the stacks pin. Memory grows with the nodes of the whole tree: at most one for each
// line of each frame of the tape.
FrameTree frame_tree(const ShownStacks& stacks, const std::vector<PinnedStacks>& pinned,
                     const TreeLimits& limits);

// The same tree within these limits. Values of merged nodes are kept.
FrameTree pruned(const FrameTree& tree, const TreeLimits& limits);

}  // namespace heaptape::replayer
