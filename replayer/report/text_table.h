// Tables for people, in ASCII.
#pragma once

#include <string>
#include <vector>

namespace heaptape::replayer {

using TableRow = std::vector<std::string>;  // a cell for each column

// A line a row, each behind `indent`: the first column stands left, the others right, two blanks
// apart. No line ends in blanks. All rows have as many cells as the first; there is at least one. A
// row of one cell among them is a line by itself.
std::string aligned(const std::vector<TableRow>& rows, const std::string& indent = "");

}  // namespace heaptape::replayer
