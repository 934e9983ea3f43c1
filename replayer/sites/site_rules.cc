#include "replayer/sites/site_rules.h"

#include <algorithm>

#include "base/display_text.h"
#include "replayer/sites/frame_text.h"

namespace heaptape::replayer {
namespace {

constexpr std::string_view kSiteFilter = "site~";

}  // namespace

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
