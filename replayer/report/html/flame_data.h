// A tree of stacks for a page's flame graph.
#pragma once

#include <cstddef>
#include <string>

#include "replayer/report/html/json_writer.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// The key of a node value in a page: one of kStackValueNames, then "pinned0" and so on.
std::string value_key(size_t value);

// Writes an object with the columns of the tree.
void write_stack_tree(JsonWriter& out, const schema::StackTree& tree);

// The same for two tapes: the functions of both, each with the values of the new tape and, as
// "base", of the other. A node merged in only one tree keeps its name in the other.
void write_stack_trees(JsonWriter& out, const schema::StackTree& base,
                       const schema::StackTree& now);

}  // namespace heaptape::replayer
