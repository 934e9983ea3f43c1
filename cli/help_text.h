// The layout of --help and of other text in paragraphs.
#pragma once

#include <cstddef>
#include <string>

namespace heaptape::cli {

// Breaks the lines that are longer than `columns` at blanks. The rest of an option's description
// begins below its first line; other lines keep their indent. Lines that show a command to type
// ("Example: ...") stay whole, and so does a word longer than a line. A command between backquotes
// is one word.
std::string wrap_help(const std::string& text, size_t columns);

}  // namespace heaptape::cli
