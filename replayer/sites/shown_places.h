// What of the places of a tape is shown, and which of it can be a site. docs/metrics.md, "Sites".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "replayer/sites/site_rules.h"
#include "replayer/symbols/symbols.h"
#include "schema/tape/stack_end.h"

namespace heaptape::replayer {

// One place. Its lines are its source frames, or one line if its source is not known.
struct ShownPlace {
  std::vector<uint32_t> lines;  // those that are not hidden, innermost first; indices into `source`
  uint32_t site = 0;            // in `lines`: the first that can be a site; lines.size(): none can
};

// By index into the places of `symbols`.
std::vector<ShownPlace> shown_places(const Symbols& symbols, const SiteRules& rules);

// Null where the source of the place is not known.
inline const SourceFrame* source_line(const CodePlace& place, uint32_t line) {
  return line < place.source.size() ? &place.source[line] : nullptr;
}

// Of one stack. The recorder takes 256 and the mark of a cut at most; a damaged tape may have any
// number.
inline constexpr size_t kMostShownFrames = 257;

// Where a stack was cut, or a frame was lost.
inline bool is_unknown(const CodePlace& place) {
  return place.module.empty() && place.offset < schema::kStackEnds && place.source.empty();
}

}  // namespace heaptape::replayer
