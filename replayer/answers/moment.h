// Moments of a run that deserve a look. docs/metrics.md, "Moments".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schema/tape/event.h"

namespace heaptape::replayer {

// Precedes the name of a mark of the tape.
inline constexpr std::string_view kMarkPrefix = "mark:";

struct Moment {
  std::string name;    // "peak", "plateau", "exit", "end", "mark:NAME", fit to print; or as
                       // requested: "#1000"
  uint64_t event = 0;  // calls made by then
  std::optional<uint64_t> time_ns =
      {};  // since the recording began; nothing: the tape has no times
  // The sample of the process nearest in time, without regions; nothing: there is none.
  std::optional<schema::ProcessSample> process = {};

  bool operator==(const Moment&) const = default;
};

}  // namespace heaptape::replayer
