// Text of unknown origin (paths, labels, counter names) made fit for a JSON file, a terminal or
// XML.
#pragma once

#include <string>
#include <vector>

namespace heaptape::base {

// `text` with each piece that is not UTF-8 replaced by U+FFFD. JSON must be UTF-8; paths need not.
std::string valid_utf8(std::string text);

// `text` as a string of JSON, in its quotes: as valid_utf8, with escapes where JSON asks for them.
std::string json_string(const std::string& text);

// As valid_utf8, and control characters replaced too: the result stays on one line, cannot steer a
// terminal, does not turn the direction of what stands around it (letters that are read from right
// to left stay) and holds only characters that XML 1.0 allows.
std::string display_text(std::string text);

// As valid_utf8, and only the characters that turn the direction of text replaced: for text with
// lines, and for JSON that is written already.
std::string undirected(std::string text);

// `text` in single quotes and fit to print: a path or a name in a message.
std::string quoted(std::string text);

// The words of a command line as a shell would need them, for people.
std::string command_text(const std::vector<std::string>& words);

}  // namespace heaptape::base
