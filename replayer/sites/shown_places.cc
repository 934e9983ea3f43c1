#include "replayer/sites/shown_places.h"

#include <algorithm>

#include "replayer/sites/wrappers.h"

namespace heaptape::replayer {
namespace {

ShownPlace shown_place(const CodePlace& place, const SiteRules& rules) {
  ShownPlace shown;
  const size_t lines = std::max<size_t>(place.source.size(), 1);
  bool has_site = false;
  for (uint32_t line = 0; line < lines; ++line) {
    const SourceFrame* const source = source_line(place, line);
    if (rules.hides(place, source)) continue;
    shown.lines.push_back(line);
    has_site = has_site || (!is_unknown(place) && !is_allocation_wrapper(place, source));
    if (!has_site) ++shown.site;
  }
  return shown;
}

}  // namespace

std::vector<ShownPlace> shown_places(const Symbols& symbols, const SiteRules& rules) {
  std::vector<ShownPlace> shown;
  shown.reserve(symbols.places().size());
  for (const CodePlace& place : symbols.places()) shown.push_back(shown_place(place, rules));
  return shown;
}

}  // namespace heaptape::replayer
