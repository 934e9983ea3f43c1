// Tapes of scenarios, and their replays on allocators.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "replayer/metrics/run_metrics.h"
#include "scenarios/scenario.h"
#include "schema/tape/event.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

// Writes the tape of a scenario with parameters "name=value"; fails the test on an error. Returns
// its path.
std::string write_scenario(const TempDir& dir, const std::string& name,
                           const std::vector<std::string>& sets = {});

std::vector<schema::Event> scenario_events(const std::string& name,
                                           const std::vector<std::string>& sets = {});

// Sizes of the blocks alive at the end, with the number of each.
std::map<uint64_t, size_t> survivors_of(const std::vector<schema::Event>& events);

// Parameters that make the scenario's tape quick to write: all combinations of its choices.
std::vector<std::vector<std::string>> quick_variants(const scenarios::Scenario& scenario);

// Its replays on allocators, without touching memory.
std::vector<replayer::RunMetrics> replay_scenario_on_each(const std::string& name,
                                                          const std::vector<std::string>& sets,
                                                          const std::vector<std::string>& specs);

replayer::RunMetrics replay_scenario(const std::string& name, const std::vector<std::string>& sets,
                                     const std::string& spec);

std::map<std::string, uint64_t> counters_of(const replayer::RunMetrics& run);

// One allocator's, event by event.
struct Placed {
  uint64_t initial_break = 0;
  std::vector<uint64_t> addresses;  // 0: no block placed
  std::vector<uint64_t> committed;  // bytes, after the event

  uint64_t offset(size_t event) const { return addresses.at(event) - initial_break; }
};
Placed place_scenario(const std::string& name, const std::vector<std::string>& sets,
                      const std::string& spec);

}  // namespace heaptape::tests
