// Moments of a run that are worth looking at. docs/metrics.md, "Moments".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heaptape::replayer {

struct Moment {
  std::string name;    // "peak", "plateau", "exit", "end", or how it was asked for: "#1000"
  uint64_t event = 0;  // calls made by then
  std::optional<uint64_t> time_ns =
      {};  // since the recording began; nothing: the tape has no times

  bool operator==(const Moment&) const = default;
};

}  // namespace heaptape::replayer
