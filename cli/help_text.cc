#include "cli/help_text.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace heaptape::cli {
namespace {

// Where the rest of a long line begins: below the description in "  -o,--output TAPE   the tape",
// or below the beginning of the line.
size_t indent_of(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const size_t gap = line.find("  ", begin);
  if (begin == 0 || gap == line.npos) return begin;
  return std::min(line.find_first_not_of(' ', gap), line.size());
}

// The next word; a command between backquotes is one. False at the end.
bool read_word(std::istringstream& words, std::string& word) {
  if (!(words >> word)) return false;
  for (std::string more; std::ranges::count(word, '`') % 2 == 1 && words >> more;) {
    word += " " + more;
  }
  return true;
}

void wrap_line(const std::string& line, size_t columns, std::string& out) {
  const size_t indent = indent_of(line);
  out += line.substr(0, indent);
  size_t at = indent;
  std::istringstream words(line.substr(indent));
  for (std::string word; read_word(words, word); at += word.size()) {
    if (at > indent && at + 1 + word.size() > columns) {
      out.append("\n").append(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
  }
  out += '\n';
}

}  // namespace

std::string wrap_help(const std::string& text, size_t columns) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.size() <= columns || line.starts_with("Example")) {
      out += line + '\n';
    } else {
      wrap_line(line, columns, out);
    }
  }
  return out;
}

}  // namespace heaptape::cli
