// Makes text of unknown origin (paths, labels, counter names) fit for a JSON file, a terminal or
// XML.
#pragma once

#include <string>
#include <vector>

namespace heaptape::base {

// `text` with each piece that is not UTF-8 replaced by U+FFFD. JSON must be UTF-8; paths need not.
std::string valid_utf8(std::string text);

// `text` as a quoted JSON string: as valid_utf8, with the escapes that JSON requires.
std::string json_string(const std::string& text);

// As valid_utf8, and with control characters replaced: the result stays on one line, cannot steer a
// terminal, does not change the direction of surrounding text (letters read from right to left
// stay) and contains only characters that XML 1.0 allows.
std::string display_text(std::string text);

// As valid_utf8, and also replaces characters that change the direction of text; keeps control
// characters: for text with lines, and for JSON already written.
std::string undirected(std::string text);

// `text` in single quotes and printable: a path or a name in a message.
std::string quoted(std::string text);

// The arguments of a command line, quoted as for a shell, for people.
std::string command_text(const std::vector<std::string>& words);

}  // namespace heaptape::base
