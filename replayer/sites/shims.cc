#include "replayer/sites/shims.h"

#include "replayer/sites/wrappers.h"

namespace heaptape::replayer {
namespace {

bool has_name(const CodePlace& place) {
  return !place.source.empty() && !place.source.front().function.empty();
}

}  // namespace

// Callers have smaller numbers, so their results are known when needed.
std::vector<bool> unnamed_shims(const schema::Stacks& stacks, const Symbols& symbols) {
  std::vector<bool> shims(stacks.limit());
  for (schema::FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr || frame->caller == 0) continue;
    const CodePlace& place = symbols.find(number);
    const CodePlace& caller = symbols.find(frame->caller);
    if (place.module.empty() || place.module != caller.module || has_name(place)) continue;
    shims[number] = has_name(caller) ? is_allocation_function(caller.source.front())
                                     : static_cast<bool>(shims[frame->caller]);
  }
  return shims;
}

}  // namespace heaptape::replayer
