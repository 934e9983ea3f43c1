#include "replayer/report/html/static_text.h"

#include <sstream>

#include "replayer/report/html/page.h"

namespace heaptape::replayer {
namespace {

std::string row_of(const TableRow& cells, bool is_heading) {
  std::string text = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const char* const head = is_heading ? "th scope=\"col\"" : "th scope=\"row\"";
    const bool is_head = (is_heading || i == 0) && !cells[i].empty();
    text += is_head ? html_element(head, cells[i]) : "<td>" + html_text(cells[i]) + "</td>";
  }
  return text + "</tr>\n";
}

}  // namespace

std::string html_element(const std::string& tag, const std::string& text) {
  if (text.empty()) return "";
  return "<" + tag + ">" + html_text(text) + "</" + tag.substr(0, tag.find(' ')) + ">\n";
}

std::string html_terminal(const std::string& text) {
  std::string out = "<pre class=\"scroll\" tabindex=\"0\">";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += html_text(line) + "\n";
  return out + "</pre>\n";
}

std::string html_list(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += html_element("li", line);
  return text.empty() ? "" : "<ul>" + text + "</ul>\n";
}

std::string html_table(const std::string& caption, const std::vector<TableRow>& rows,
                       size_t headings) {
  if (rows.size() <= headings) return "";
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\"><table>" + html_element("caption", caption);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0) text += "<thead>";
    if (i == headings) text += "</thead><tbody>";
    text += row_of(rows[i], i < headings);
  }
  return text + "</tbody></table></div>\n";
}

}  // namespace heaptape::replayer
