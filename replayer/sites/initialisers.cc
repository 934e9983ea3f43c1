#include "replayer/sites/initialisers.h"

#include "replayer/sites/frame_text.h"

namespace heaptape::replayer {
namespace {

bool is_of_loader(const CodePlace& place) {
  const std::string module = last_part(place.module);
  return module.starts_with("ld-linux") || module.starts_with("ld-musl");
}

}  // namespace

std::vector<bool> initialisers(const schema::Stacks& stacks, const Symbols& symbols) {
  std::vector<bool> loader;  // by place
  for (const CodePlace& place : symbols.places()) loader.push_back(is_of_loader(place));
  std::vector<bool> found(stacks.limit());
  for (schema::FrameNumber number = 1; number < stacks.limit(); ++number) {
    const schema::Frame* const frame = stacks.find(number);
    if (frame == nullptr || frame->caller == 0) continue;
    const uint32_t place = symbols.index_of(number);
    found[number] = loader[symbols.index_of(frame->caller)] && !loader[place] &&
                    !symbols.places()[place].module.empty();
  }
  return found;
}

}  // namespace heaptape::replayer
