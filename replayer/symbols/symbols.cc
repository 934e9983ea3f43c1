#include "replayer/symbols/symbols.h"

#include <utility>

namespace heaptape::replayer {

Symbols filled_in(const Symbols& symbols, const Symbols& older) {
  std::vector<CodePlace> places = symbols.places();
  std::vector<uint32_t> place_of_frame(symbols.limit());
  for (schema::FrameNumber frame = 0; frame < symbols.limit(); ++frame) {
    place_of_frame[frame] = symbols.index_of(frame);
    if (frame == 0 || frame >= older.limit()) continue;
    CodePlace& place = places[place_of_frame[frame]];
    const CodePlace& known = older.find(frame);
    if (place.source.empty() && known.module == place.module) place = known;
  }
  return {std::move(places), std::move(place_of_frame)};
}

}  // namespace heaptape::replayer
