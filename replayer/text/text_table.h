// Tables for people, in ASCII.
#pragma once

#include <string>
#include <vector>

namespace heaptape::replayer {

using TableRow = std::vector<std::string>;  // a cell for each column

// A line per row, after `indent`: the first column is left-aligned, the others right-aligned, two
// blanks apart. Lines have no trailing blanks. All rows, at least one, have as many cells as the
// first; a row of one cell is a line by itself.
std::string aligned(const std::vector<TableRow>& rows, const std::string& indent = "");

}  // namespace heaptape::replayer
