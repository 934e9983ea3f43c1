#include "replayer/text/text_table.h"

#include <algorithm>
#include <numeric>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

std::vector<size_t> widths_of(const std::vector<TableRow>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const TableRow& row : rows) {
    if (row.size() == 1) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

}  // namespace

std::string aligned(const std::vector<TableRow>& rows, const std::string& indent) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string text;
  for (const TableRow& row : rows) {
    std::string line = indent + row[0];
    if (row.size() > 1) line += std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i) {
      line += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string aligned_within(size_t width, const std::vector<TableRow>& rows,
                           std::vector<size_t> least_first) {
  std::vector<size_t> widths = widths_of(rows);
  for (size_t i = widths.size(); i-- > 2;) least_first.push_back(i);
  size_t total = std::accumulate(widths.begin(), widths.end(), 2 * (widths.size() - 1));
  uint64_t left_out = 0;
  for (const size_t column : least_first) {
    if (total <= width) break;
    if (widths[column] == 0) continue;
    total -= widths[column] + 2;
    widths[column] = 0;
    ++left_out;
  }
  if (left_out == 0) return aligned(rows);
  std::vector<TableRow> shown;
  for (const TableRow& row : rows) {
    TableRow& cells = shown.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] != 0) cells.push_back(row[i]);
    }
  }
  return aligned(shown) + "... and " + base::counted(left_out, "column") +
         " more: --wide shows all\n";
}

}  // namespace heaptape::replayer
