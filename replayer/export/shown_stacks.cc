#include "replayer/export/shown_stacks.h"

#include <utility>

namespace heaptape::replayer {

using schema::Frame;
using schema::FrameNumber;

ShownStacks::ShownStacks(const schema::Stacks& stacks, const Symbols& symbols,
                         const SiteRules& rules, std::vector<StackCount> counts,
                         SampleWeight weight)
    : stacks_(stacks),
      symbols_(symbols),
      places_(shown_places(symbols, rules)),
      sites_(stacks, symbols, rules),
      list_(std::move(counts)),
      weight_(weight) {
  std::erase_if(list_, [this](const ShownStack& stack) {
    return !sites_.list()[sites_.of_stack(stack.number)].is_shown;
  });
}

uint32_t ShownStacks::site_line(FrameNumber frame) const {
  const ShownPlace& place = places_[symbols_.index_of(frame)];
  const auto lines = static_cast<uint32_t>(place.lines.size());
  if (!sites_.is_shim(frame) && place.site < lines) return place.site;
  return sites_.is_initialiser(frame) ? 0 : lines;
}

// 0 if all frames are skipped.
FrameNumber ShownStacks::site_frame(FrameNumber stack) const {
  size_t depth = 0;
  for (const Frame* frame; (frame = stacks_.find(stack)) != nullptr; stack = frame->caller) {
    if (site_line(stack) < places_[symbols_.index_of(stack)].lines.size()) return stack;
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
    const uint32_t first = number == site ? site_line(number) : 0;
    if (first < places_[place].lines.size()) frames.push_back({place, first});
    if (frames.size() == kMostShownFrames) break;
  }
  // A stack that was cut at once is unknown.
  if (frames.size() == 1 && is_unknown(place_of(frames[0]))) frames.clear();
  return frames;
}

}  // namespace heaptape::replayer
