// "Did you mean": the known names that a mistyped one may stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::base {

// The nearest of `names` to `typed`, best first, at most three. Near is: the same but for case,
// what is behind the last '.' or ':' of a name (`committedBytes` for `peak.committedBytes`), or a
// few letters off either.
std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names);

// " (did you mean a or b?)", of the near names, for the inside of a sentence; empty if there are
// none.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace heaptape::base
