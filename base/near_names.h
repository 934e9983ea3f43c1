// "Did you mean": the known names that a mistyped one may stand for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heaptape::base {

// The names nearest to `typed`, best first, at most three. Near means: the same except for case;
// the part after a name's last '.' or ':' (`committedBytes` for `peak.committedBytes`); or a few
// letters off either.
std::vector<std::string> near_names(std::string_view typed, const std::vector<std::string>& names);

// " (did you mean a or b?)" with the near names, for the inside of a sentence; empty if there are
// none.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

}  // namespace heaptape::base
