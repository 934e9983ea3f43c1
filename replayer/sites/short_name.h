// Function names that fit narrow columns.
#pragma once

#include <string>
#include <string_view>

namespace heaptape::replayer {

// Omits the return type and parameters, and keeps at most 48 bytes: names of templates run to
// thousands of characters. A longer name loses its template arguments first, then its middle.
std::string short_name(std::string_view function);

}  // namespace heaptape::replayer
