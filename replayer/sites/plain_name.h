// The bare name of a function.
#pragma once

#include <string_view>

namespace heaptape::replayer {

// "std::vector<int>::push_back" for "void std::vector<int>::push_back(int const&)": omits the
// return type, parameters and anything after them. Text that is no function's comes back in part or
// whole.
std::string_view plain_name(std::string_view demangled);

}  // namespace heaptape::replayer
