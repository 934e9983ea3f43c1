// Encodes and decodes places in the source. Only the .cc files that build or read such messages
// include this.
#pragma once

#include <vector>

#include "base/result.h"
#include "replayer/symbols/symbols.capnp.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// The writer cuts longer texts to this.
inline constexpr size_t kMostTextBytes = 64 << 10;

void write_places(wire::CodePlaces::Builder out, const std::vector<CodePlace>& places);

// Throws kj::Exception on damage: use inside guard_kj. A small message can name long texts many
// times: a result of more than a few GiB is damage.
std::vector<CodePlace> read_places(wire::CodePlaces::Reader in);

}  // namespace heaptape::replayer
