// The part of a page that is there without scripts: elements with the sentences and tables of the
// terminal. All text is escaped here.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "replayer/text/text_table.h"

namespace heaptape::replayer {

// "<p class="verdict">text</p>"; `tag` may have attributes. Empty if the text is.
std::string html_element(const std::string& tag, const std::string& text);

// Lines in columns, as a terminal has them.
std::string html_terminal(const std::string& text);

// "<ul><li>text</li></ul>". Empty if there are no lines.
std::string html_list(const std::vector<std::string>& lines);

// The first `headings` rows are the head; in others, the first cell is the heading of its row.
// Empty if there are no other rows.
std::string html_table(const std::string& caption, const std::vector<TableRow>& rows,
                       size_t headings);

}  // namespace heaptape::replayer
