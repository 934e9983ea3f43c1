// The name of a function without all that stands around it.
#pragma once

#include <string_view>

namespace heaptape::replayer {

// "std::vector<int>::push_back" of "void std::vector<int>::push_back(int const&)": without what is
// returned, parameters, and what stands behind them. Text that is no function's comes back in some
// part or whole.
std::string_view plain_name(std::string_view demangled);

}  // namespace heaptape::replayer
