// The names of functions, where there is little room.
#pragma once

#include <string>
#include <string_view>

namespace heaptape::replayer {

// Without what is returned and parameters, and of at most 48 bytes: names of templates run to
// thousands of characters. Of longer ones the arguments of templates are left out first, then the
// middle.
std::string short_name(std::string_view function);

}  // namespace heaptape::replayer
