#include "schema/tape/stack.h"

#include <algorithm>

namespace heaptape::schema {

void Stacks::add_frames(FrameNumber first, std::span<const Frame> frames) {
  if (frames.empty()) return;
  if (stretches_.empty() || first != limit() - 1) stretches_.push_back({first, {}});
  std::vector<Frame>& stretch = stretches_.back().frames;
  stretch.insert(stretch.end(), frames.begin(), frames.end());
}

const Frame* Stacks::find(FrameNumber number) const {
  if (number == 0) return nullptr;
  const auto behind = std::ranges::upper_bound(stretches_, number - 1, {}, &Stretch::first);
  if (behind == stretches_.begin()) return nullptr;
  const Stretch& stretch = *(behind - 1);
  const size_t index = number - 1 - stretch.first;
  return index < stretch.frames.size() ? &stretch.frames[index] : nullptr;
}

FrameNumber Stacks::limit() const {
  if (stretches_.empty()) return 1;
  const Stretch& last = stretches_.back();
  return last.first + static_cast<FrameNumber>(last.frames.size()) + 1;
}

}  // namespace heaptape::schema
