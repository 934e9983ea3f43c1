// Replays of generated tapes, in the process of the test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replayer/metrics/run_metrics.h"

namespace heaptape::tests {

// What the scenario does on the allocator that `spec` names; "name=value" sets its parameters.
// A failure is noted on any error.
replayer::RunMetrics replay_scenario(const std::string& scenario,
                                     const std::vector<std::string>& sets, const std::string& spec);

std::map<std::string, uint64_t> counters_of(const replayer::RunMetrics& run);

// Whether the catalog has a backend of this name.
bool in_catalog(const std::string& backend);

}  // namespace heaptape::tests
