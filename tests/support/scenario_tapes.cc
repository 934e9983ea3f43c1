#include "tests/support/scenario_tapes.h"

#include <gtest/gtest.h>

#include <sstream>

#include "allocators/catalog/backend_spec.h"
#include "replayer/engine/slot_resolver.h"
#include "tests/support/replays.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

using allocators::BatchResult;
using allocators::RegionEvent;

// Wraps around if memory is given back, as sums of it may.
uint64_t change_of(const RegionEvent& region) {
  const uint64_t bytes = region.range.bytes();
  return region.kind == RegionEvent::Kind::kCommit ? bytes : -bytes;
}

base::Status run_all(allocators::Backend& backend, const replayer::ResolvedBatch& batch,
                     Placed& placed) {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto before, backend.start());
  placed.initial_break = backend.traits().initial_break;
  uint64_t committed = 0;
  for (const RegionEvent& region : before) committed += change_of(region);
  HEAPTAPE_RETURN_IF_ERROR(backend.submit(
      {0, batch.slot_limit, batch.ops, batch.recorded_addresses, batch.samples, batch.times}));
  BatchResult result;
  HEAPTAPE_RETURN_IF_ERROR(backend.collect(result));
  auto region = result.regions.begin();
  for (size_t i = 0; i < result.placements.size(); ++i) {
    placed.addresses.push_back(result.placements[i].address);
    for (; region != result.regions.end() && region->op <= i; ++region) {
      committed += change_of(*region);
    }
    placed.committed.push_back(committed);
  }
  return {};
}

// Values that make a scenario quick where its defaults are not, or exercise another path.
std::vector<std::vector<std::string>> quick_values(const std::string& name) {
  static const std::map<std::string, std::vector<std::vector<std::string>>> kQuick = {
      {"fill", {{"count=2000"}}},
      {"random-slots", {{"events=20000"}}},
      {"manifest-patching", {{"manifests=20", "length=50000"}}},
      {"sliver-pin", {{}, {"hole=8880819"}}},
      {"fleet-like", {{"events=20000", "live=1000"}}},
      {"clone-like", {{"events=20000"}}},
      {"cvs-pagealign", {{"bytes=1MiB"}}},
      {"openbsd-cvs", {{"bytes=1MiB"}}},
      {"pagealign-bench", {{"batches=20"}}},
      {"lmdb-synthetic", {{"ids=5090", "max_run=4", "n=5"}}},
      {"lmdb-dust-bricks", {{"dust=2000", "dust_per_txn=100", "hold_reader=10", "bricks=20"}}},
  };
  const auto quick = kQuick.find(name);
  return quick == kQuick.end() ? std::vector<std::vector<std::string>>{{}} : quick->second;
}

}  // namespace

std::vector<std::vector<std::string>> quick_variants(const scenarios::Scenario& scenario) {
  std::vector<std::vector<std::string>> variants = quick_values(scenario.name);
  for (const base::Parameter& parameter : scenario.parameters) {
    if (parameter.choices.empty()) continue;
    std::vector<std::vector<std::string>> multiplied;
    for (const std::string& choice : parameter.choices) {
      for (auto sets : variants) {
        sets.push_back(parameter.name + "=" + choice);
        multiplied.push_back(std::move(sets));
      }
    }
    variants.swap(multiplied);
  }
  return variants;
}

std::string write_scenario(const TempDir& dir, const std::string& name,
                           const std::vector<std::string>& sets) {
  std::string path = dir.file(name + ".tape");
  const auto summary = scenarios::write_scenario({.name = name, .sets = sets, .output = path});
  EXPECT_TRUE(summary.ok()) << summary.error().message;
  return path;
}

std::vector<schema::Event> scenario_events(const std::string& name,
                                           const std::vector<std::string>& sets) {
  const TempDir dir;
  auto tape = schema::TapeReader::open(write_scenario(dir, name, sets));
  EXPECT_TRUE(tape.ok()) << name;
  return tape.ok() ? read_events(*tape) : std::vector<schema::Event>();
}

std::map<uint64_t, size_t> survivors_of(const std::vector<schema::Event>& events) {
  std::map<uint64_t, uint64_t> live;
  for (const schema::Event& event : events) {
    live.erase(event.freed_address);
    if (event.address != 0) live[event.address] = event.size;
  }
  std::map<uint64_t, size_t> sizes;
  for (const auto& [address, size] : live) ++sizes[size];
  return sizes;
}

std::vector<replayer::RunMetrics> replay_scenario_on_each(const std::string& name,
                                                          const std::vector<std::string>& sets,
                                                          const std::vector<std::string>& specs) {
  const TempDir dir;
  auto options = replay_options(specs);
  options.touch = allocators::Touch::kNone;
  return replay_tape(write_scenario(dir, name, sets), options);
}

replayer::RunMetrics replay_scenario(const std::string& name, const std::vector<std::string>& sets,
                                     const std::string& spec) {
  auto runs = replay_scenario_on_each(name, sets, {spec});
  EXPECT_EQ(runs.size(), 1u) << spec;
  return runs.empty() ? replayer::RunMetrics() : std::move(runs[0]);
}

std::map<std::string, uint64_t> counters_of(const replayer::RunMetrics& run) {
  std::map<std::string, uint64_t> counters;
  for (const allocators::Counter& counter : run.counters) counters[counter.name] = counter.value;
  return counters;
}

Placed place_scenario(const std::string& name, const std::vector<std::string>& sets,
                      const std::string& spec) {
  const schema::TapeHeader header = sample_header();
  replayer::SlotResolver resolver;
  replayer::ResolvedBatch batch;
  EXPECT_TRUE(resolver.resolve(scenario_events(name, sets), 0, batch).ok());
  Placed placed;
  auto backend = replay_options({spec}).specs.at(0).make({&header, allocators::Touch::kNone});
  const auto status = run_all(*backend, batch, placed);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return placed;
}

}  // namespace heaptape::tests
