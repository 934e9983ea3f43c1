// A tree of stacks as a page's flame graph draws it.
#pragma once

#include <cstddef>
#include <string>

#include "replayer/report/html/json_writer.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// The name by which a page has a value of nodes: those of kStackValueNames, then "pinned0" and on.
std::string value_key(size_t value);

// An object with the columns of the tree.
void write_stack_tree(JsonWriter& out, const schema::StackTree& tree);

// The same of two tapes: the functions of both, each with the values of the new tape and, as
// "base", of the other. What only one of them has merged is in the other by its name.
void write_stack_trees(JsonWriter& out, const schema::StackTree& base,
                       const schema::StackTree& now);

}  // namespace heaptape::replayer
