// The shown places of a tape, and their lines that can be sites. docs/metrics.md, "Sites".
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
  std::vector<uint32_t> lines;  // those not hidden, innermost first; indices into `source`
  uint32_t site = 0;            // in `lines`: the first that can be a site; lines.size(): none can
};

// By index into the places of `symbols`.
std::vector<ShownPlace> shown_places(const Symbols& symbols, const SiteRules& rules);

// Null if the source of the place is not known.
inline const SourceFrame* source_line(const CodePlace& place, uint32_t line) {
  return line < place.source.size() ? &place.source[line] : nullptr;
}

// Limit for one stack. The recorder writes at most 256 frames and the mark of a cut; a damaged tape
// may have any number.
inline constexpr size_t kMostShownFrames = 257;

// The mark of a cut, or a lost frame.
inline bool is_unknown(const CodePlace& place) {
  return place.module.empty() && place.offset < schema::kStackEnds && place.source.empty();
}

}  // namespace heaptape::replayer
