#include "schema/tape/stack_copier.h"

#include <utility>

#include "schema/tape/stack_end.h"

namespace heaptape::schema {

StackCopier::StackCopier(const Stacks& stacks, TapeEncoder& tape)
    : stacks_(stacks), tape_(tape), copied_(stacks.limit()) {
  if (stacks.limit() > 1) tape.set_has_stacks();
}

FrameNumber StackCopier::copy(FrameNumber stack) {
  if (stack >= copied_.size()) return 0;
  std::vector<FrameNumber> missing;  // from the innermost on
  FrameNumber at = stack;
  while (at != 0 && copied_[at] == 0) {
    missing.push_back(at);
    const Frame* const frame = stacks_.find(at);
    at = frame != nullptr ? frame->caller : 0;
  }
  FrameNumber caller = at == 0 ? 0 : copied_[at];
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    const Frame* const frame = stacks_.find(*it);
    add_mappings_up_to(*it - 1);
    Frame copy{0, static_cast<uint64_t>(StackEnd::kUnknown)};
    if (frame != nullptr) copy = *frame;
    copy.caller = caller;
    caller = tape_.add_frame(copy);
    copies_.add_frames(caller - 1, {&copy, 1});
    copied_[*it] = caller;
  }
  return caller;
}

// Adds the mappings that were seen when there were at most so many frames.
void StackCopier::add_mappings_up_to(FrameNumber frames) {
  const std::vector<CodeMapping>& all = stacks_.mappings();
  for (; mappings_ < all.size() && all[mappings_].frames <= frames; ++mappings_) {
    CodeMapping copy = all[mappings_];
    copy.frames = tape_.frames();
    tape_.add_mapping(copy);
    copies_.add_mapping(std::move(copy));
  }
}

}  // namespace heaptape::schema
