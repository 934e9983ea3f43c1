#include "replayer/sites/site_rules.h"

#include <algorithm>

#include "base/display_text.h"
#include "replayer/sites/frame_text.h"

namespace heaptape::replayer {
namespace {

constexpr std::string_view kSiteFilter = "site~";
constexpr size_t kMostPatternBytes = 1024;
constexpr size_t kMostTextBytes = 2048;

base::Error bad_pattern(const std::string& text, const char* reason) {
  return base::Error::usage(base::quoted(text) + " is not a regular expression: " + reason);
}

}  // namespace

base::Result<Pattern> Pattern::make(const std::string& text) {
  if (text.empty()) return bad_pattern(text, "it is empty");
  if (text.size() > kMostPatternBytes) return bad_pattern(text, "it is too long");
  try {
    return Pattern(std::regex(text, std::regex::ECMAScript | std::regex::optimize));
  } catch (const std::regex_error&) {
    return bad_pattern(
        text, "put a backslash before characters such as ( [ { * + ? to match them literally");
  }
}

bool Pattern::is_in(std::string_view text) const {
  text = text.substr(0, kMostTextBytes);
  try {
    return std::regex_search(text.begin(), text.end(), regex_);
  } catch (const std::regex_error&) {  // too complex for this text
    return false;
  }
}

base::Result<SiteRules> SiteRules::make(const SiteFilters& filters) {
  SiteRules rules;
  for (const std::string& text : filters.hide) {
    HEAPTAPE_ASSIGN_OR_RETURN(Pattern pattern, Pattern::make(text));
    rules.hide_.push_back(std::move(pattern));
  }
  if (filters.only.empty()) return rules;
  if (!filters.only.starts_with(kSiteFilter)) {
    return base::Error::usage(base::quoted(filters.only) +
                              " is not a filter: type site~REGEX, such as 'site~parse'");
  }
  HEAPTAPE_ASSIGN_OR_RETURN(rules.only_, Pattern::make(filters.only.substr(kSiteFilter.size())));
  return rules;
}

bool SiteRules::hides(const CodePlace& place, const SourceFrame* source) const {
  return std::ranges::any_of(hide_, [&](const Pattern& pattern) {
    return pattern.is_in(frame_name(place, source)) || pattern.is_in(place.module);
  });
}

bool SiteRules::shows(const CodePlace& place, const SourceFrame* source) const {
  if (!only_) return true;
  return only_->is_in(frame_text(place, source, FilePath::kWhole)) ||
         only_->is_in(frame_text(place, source)) || only_->is_in(short_frame_text(place, source)) ||
         only_->is_in(place.module);
}

bool SiteRules::shows(const std::string& name) const {
  return !only_ || only_->is_in(name);
}

}  // namespace heaptape::replayer
