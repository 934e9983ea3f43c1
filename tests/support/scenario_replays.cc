#include "tests/support/scenario_replays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "scenarios/scenario.h"
#include "tests/support/replays.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

replayer::RunMetrics replay_scenario(const std::string& scenario,
                                     const std::vector<std::string>& sets,
                                     const std::string& spec) {
  const TempDir dir;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(scenarios::run_scenario({scenario, sets, dir.file("t")}, out, err), 0) << err.str();
  auto runs = replay_tape(dir.file("t"), replay_options({spec}));
  EXPECT_EQ(runs.size(), 1u) << spec;
  return runs.empty() ? replayer::RunMetrics() : std::move(runs[0]);
}

std::map<std::string, uint64_t> counters_of(const replayer::RunMetrics& run) {
  std::map<std::string, uint64_t> counters;
  for (const allocators::Counter& counter : run.counters) counters[counter.name] = counter.value;
  return counters;
}

bool in_catalog(const std::string& backend) {
  return std::ranges::any_of(allocators::catalog(),
                             [&](const auto& entry) { return entry.name == backend; });
}

}  // namespace heaptape::tests
