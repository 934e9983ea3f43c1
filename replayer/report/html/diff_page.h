// What `heaptape diff --html` writes. docs/howto-html.md, "Two reports".
#pragma once

#include <string>

#include "replayer/report/diff.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// One file. Null for the stacks of a report that has none; then none are compared.
std::string diff_page(const ReportDiff& diff, const schema::StackTree* base_stacks,
                      const schema::StackTree* new_stacks);

}  // namespace heaptape::replayer
