// How people ask for a moment of a tape. docs/metrics.md, "Moments".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::replayer {

// What follows --at.
struct MomentRequest {
  enum class Kind : uint8_t { kFound, kMark, kEvent, kTime };

  Kind kind = Kind::kFound;
  std::string name;      // as it was typed; of kFound "peak", "plateau", "exit", "end", or empty:
                         // the plateau, and where there is none the exit; of kMark "mark:NAME"
  uint64_t event = 0;    // of kEvent
  uint64_t time_ns = 0;  // of kTime: since the recording began
};

// "peak", "plateau", "exit", "end", "mark:NAME", "#1391340466", "1391340466", "1.5M", "12.5s",
// "800ms", "10m", "1h".
base::Result<MomentRequest> parse_moment(std::string_view text);

}  // namespace heaptape::replayer
