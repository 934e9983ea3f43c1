// Manual pages, in roff: `heaptape man PAGE`.
#pragma once

#include <string>
#include <vector>

#include "cli/command_outline.h"

namespace heaptape::cli {

// "heaptape", then "heaptape-record" and so on.
std::vector<std::string> man_page_names(const ProgramOutline& outline);
// `name` is one of these.
std::string man_page(const ProgramOutline& outline, const std::string& name);

}  // namespace heaptape::cli
