#include "cli/stack_dump.h"

#include "replayer/sites/frame_text.h"
#include "replayer/sites/shown_places.h"

namespace heaptape::cli {

// A damaged tape may have lost frames of a stack.
void StackDump::append_once(std::string& text, schema::TextFormat format,
                            schema::FrameNumber stack) {
  if (stack >= is_known_.size() || is_known_[stack]) return;
  is_known_[stack] = true;
  schema::append_stack(text, format, stack, frames_of(stack));
}

std::vector<std::string> StackDump::frames_of(schema::FrameNumber stack) const {
  std::vector<std::string> texts;
  for (const schema::Frame* frame; (frame = stacks_.stacks.find(stack)) != nullptr;
       stack = frame->caller) {
    const replayer::CodePlace& place = stacks_.symbols.find(stack);
    for (const replayer::SourceFrame& source : place.source) {
      texts.push_back(replayer::frame_text(place, &source));
    }
    if (place.source.empty()) texts.push_back(replayer::frame_text(place, nullptr));
    if (texts.size() >= replayer::kMostShownFrames) break;
  }
  return texts;
}

}  // namespace heaptape::cli
