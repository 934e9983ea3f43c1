// The bare names of functions, and names that fit narrow columns.
#pragma once

#include <string>
#include <string_view>

namespace heaptape::replayer {

// "std::vector<int>::push_back" for "void std::vector<int>::push_back(int const&)": omits the
// return type, parameters and anything after them. Text that is no function's comes back in part or
// whole.
std::string_view plain_name(std::string_view demangled);

// Omits the return type and parameters, and keeps at most 48 bytes: names of templates run to
// thousands of characters. A longer name loses its template arguments first, then its middle.
std::string short_name(std::string_view function);

}  // namespace heaptape::replayer
