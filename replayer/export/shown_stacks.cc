#include "replayer/export/shown_stacks.h"

#include <utility>

#include "replayer/sites/shims.h"

namespace heaptape::replayer {

using schema::Frame;
using schema::FrameNumber;

ShownStacks::ShownStacks(const schema::Stacks& stacks, const Symbols& symbols,
                         const SiteRules& rules, std::vector<StackCount> counts,
                         SampleWeight weight)
    : stacks_(stacks),
      symbols_(symbols),
      places_(shown_places(symbols, rules)),
      shims_(unnamed_shims(stacks, symbols)),
      list_(std::move(counts)),
      weight_(weight) {
  const Sites sites(stacks, symbols, rules);
  std::erase_if(list_, [&sites](const ShownStack& stack) {
    return !sites.list()[sites.of_stack(stack.number)].is_shown;
  });
}

bool ShownStacks::has_site(FrameNumber frame) const {
  const ShownPlace& place = places_[symbols_.index_of(frame)];
  return !shims_[frame] && place.site < place.lines.size();
}

// 0: all frames are passed over.
FrameNumber ShownStacks::site_frame(FrameNumber stack) const {
  size_t depth = 0;
  for (const Frame* frame; (frame = stacks_.find(stack)) != nullptr; stack = frame->caller) {
    if (has_site(stack)) return stack;
    if (++depth == kMostShownFrames) break;
  }
  return 0;
}

std::vector<ShownFrame> ShownStacks::frames_of(const ShownStack& stack) const {
  const FrameNumber site = site_frame(stack.number);
  std::vector<ShownFrame> frames;
  FrameNumber number = site != 0 ? site : stack.number;
  for (const Frame* frame; (frame = stacks_.find(number)) != nullptr; number = frame->caller) {
    const uint32_t place = symbols_.index_of(number);
    const uint32_t first = number == site ? places_[place].site : 0;
    if (first < places_[place].lines.size()) frames.push_back({place, first});
    if (frames.size() == kMostShownFrames) break;
  }
  // Of a stack that was cut at once nothing is known.
  if (frames.size() == 1 && is_unknown(place_of(frames[0]))) frames.clear();
  return frames;
}

}  // namespace heaptape::replayer
