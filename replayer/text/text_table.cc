#include "replayer/text/text_table.h"

#include <algorithm>

namespace heaptape::replayer {

std::string aligned(const std::vector<TableRow>& rows, const std::string& indent) {
  std::vector<size_t> widths(rows.front().size());
  for (const TableRow& row : rows) {
    if (row.size() == 1) continue;
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
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

}  // namespace heaptape::replayer
