// "Did you mean": the known names that a mistyped one may stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::base {

// The nearest of `names` to `typed`, best first, at most three. Near is: the same but for case,
// the end of a dotted name (`committedBytes` for `peak.committedBytes`), or a few letters off.
std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names);

}  // namespace heaptape::base
