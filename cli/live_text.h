// The text of `record --live`. docs/howto-record.md, "Watching a recording".
#pragma once

#include <string>
#include <vector>

#include "recorder/collector/live_figures.h"

namespace heaptape::cli {

// For a terminal, most important first: the last ones are dropped if there is no room. ASCII, so
// that each byte is one column.
std::vector<std::string> live_lines(const recorder::LiveFigures& figures);

// All in one line, without a newline.
std::string live_line(const recorder::LiveFigures& figures);

}  // namespace heaptape::cli
