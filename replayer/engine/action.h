// What `replay --do` asks of the allocators in mid-run: to give free memory back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "replayer/engine/tape_moments.h"

namespace heaptape::replayer {

struct Action {
  static constexpr uint64_t kEnd = UINT64_MAX;

  std::string name;    // "trim" or "purge": two names of one thing, see docs/metrics.md
  uint64_t event = 0;  // it comes after so many calls; kEnd: after the last one
};

// "trim@N" or "purge@N", with N a count, such as 1.5M, or "end".
base::Result<Action> parse_action(std::string_view text);

// Of "trim@plateau" the moment that is meant, or nothing: then parse_action() knows what it is.
std::optional<MomentRequest> moment_of_action(std::string_view text);

// Fails if one of them comes after the end of a replay of `events` calls, or before the range,
// which begins after `before` calls.
base::Status check_actions(const std::vector<Action>& actions, uint64_t events,
                           uint64_t before = 0);

}  // namespace heaptape::replayer
