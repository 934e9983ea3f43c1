// The facts about a tape, for `heaptape info`.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// "exited with status 0".
std::string end_text(const schema::TapeSummary& summary);

// In UTC, to the second: "2026-11-22T16:59:19Z".
std::string utc_text(uint64_t unix_ns);

// TapeFacts of report.capnp as JSON. Fails only if a text is too long for Cap'n Proto.
base::Result<std::string> facts_json(const schema::TapeReader& tape);

}  // namespace heaptape::replayer
