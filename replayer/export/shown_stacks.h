// The stacks of a tape as other programs show them. docs/metrics.md, "Sites".
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replayer/sites/shown_places.h"
#include "replayer/sites/sites.h"
#include "replayer/sites/stack_profile.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

// Some lines of a place: from the first one shown here outwards.
struct ShownFrame {
  uint32_t place = 0;       // index into the places of the symbols
  uint32_t first_line = 0;  // index into the lines of the ShownPlace

  auto operator<=>(const ShownFrame&) const = default;
};

using ShownStack = StackCount;

// For formats whose numbers have a sign.
inline int64_t as_signed(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

// Every stack with a call whose site the user wants to see, from its site outwards. Past the site,
// only frames that the user hides are omitted.
class ShownStacks {
 public:
  // Keeps `stacks` and `symbols`.
  ShownStacks(const schema::Stacks& stacks, const Symbols& symbols, const SiteRules& rules,
              const StackProfile& profile)
      : ShownStacks(stacks, symbols, rules, profile.by_stack(), profile.weight()) {}
  ShownStacks(const schema::Stacks& stacks, const Symbols& symbols, const SiteRules& rules,
              std::vector<StackCount> counts, SampleWeight weight = {});

  const std::vector<ShownStack>& list() const { return list_; }
  const Symbols& symbols() const { return symbols_; }
  const schema::Stacks& of_tape() const { return stacks_; }
  const SampleWeight& weight() const { return weight_; }
  // From the innermost, its site; empty if nothing is known, or all is hidden. At most
  // kMostShownFrames.
  std::vector<ShownFrame> frames_of(const ShownStack& stack) const;
  // The name of a stack without frames.
  std::string name_without_frames(const ShownStack& stack) const {
    return sites_.text(sites_.of_stack(stack.number));
  }
  const CodePlace& place_of(ShownFrame frame) const { return symbols_.places()[frame.place]; }

  // Calls visit(place, source) for each line of a frame, the innermost first. `source` is null if
  // unknown.
  template <typename Visit>
  void for_each_line(ShownFrame frame, Visit visit) const {
    const CodePlace& place = place_of(frame);
    const std::span<const uint32_t> lines = places_[frame.place].lines;
    for (const uint32_t line : lines.subspan(frame.first_line)) {
      visit(place, source_line(place, line));
    }
  }

 private:
  schema::FrameNumber site_frame(schema::FrameNumber stack) const;
  // The index, in the lines of its place, of the one that is a site; their number if none is.
  uint32_t site_line(schema::FrameNumber frame) const;

  const schema::Stacks& stacks_;
  const Symbols& symbols_;
  std::vector<ShownPlace> places_;
  Sites sites_;
  std::vector<ShownStack> list_;
  SampleWeight weight_;
};

}  // namespace heaptape::replayer
