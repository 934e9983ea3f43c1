// What a tape says about itself, for `heaptape info`.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// "exited with status 0".
std::string end_text(const schema::TapeSummary& summary);

// The second, in UTC: "2026-11-22T16:59:19Z".
std::string utc_text(uint64_t unix_ns);

// TapeFacts of report.capnp as JSON. Fails only when a text is longer than Cap'n Proto takes.
base::Result<std::string> facts_json(const schema::TapeReader& tape);

}  // namespace heaptape::replayer
