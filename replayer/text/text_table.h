// Tables for people, in ASCII.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heaptape::replayer {

using TableRow = std::vector<std::string>;  // a cell for each column

// A line per row, after `indent`: the first column is left-aligned, the others right-aligned, two
// blanks apart. Lines have no trailing blanks. All rows, at least one, have as many cells as the
// first; a row of one cell is a line by itself.
std::string aligned(const std::vector<TableRow>& rows, const std::string& indent = "");

// The same in at most `width` columns of text, if leaving out columns of the table suffices: first
// those numbered in `least_first`, in this order, then the last ones. The first two always stay. A
// line below says how many were left out. All rows have as many cells as the first.
std::string aligned_within(size_t width, const std::vector<TableRow>& rows,
                           std::vector<size_t> least_first);

}  // namespace heaptape::replayer
