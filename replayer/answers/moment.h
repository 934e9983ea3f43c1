// Moments of a run that are worth looking at. docs/metrics.md, "Moments".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaptape::replayer {

// A name that a mark of the tape gave.
inline constexpr std::string_view kMarkPrefix = "mark:";

struct Moment {
  std::string name;    // "peak", "plateau", "exit", "end", "mark:NAME", fit to print; or how it was
                       // asked for: "#1000"
  uint64_t event = 0;  // calls made by then
  std::optional<uint64_t> time_ns =
      {};  // since the recording began; nothing: the tape has no times

  bool operator==(const Moment&) const = default;
};

}  // namespace heaptape::replayer
