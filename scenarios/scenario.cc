#include "scenarios/scenario.h"

#include <algorithm>

#include "base/address/pages.h"
#include "base/name_list.h"
#include "base/near_names.h"
#include "base/version.h"
#include "scenarios/heap_writer.h"
#include "scenarios/scenario_list.h"

namespace heaptape::scenarios {
namespace {

using base::Error;
using base::Result;

schema::TapeHeader header_of(const ScenarioOptions& options) {
  schema::TapeHeader header;
  header.writer = std::string("heaptape ") + base::kVersion;
  header.command_line = {"heaptape", "scenario", options.name};
  for (const std::string& set : options.sets) {
    header.command_line.insert(header.command_line.end(), {"--set", set});
  }
  header.allocator = "scenario";
  header.page_bytes = static_cast<uint32_t>(base::kPageBytes);
  return header;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> list = {
      fill_scenario(),
      random_slots_scenario(),
      resize_scenario(),
      manifest_patching_scenario(),
      sliver_pin_scenario(),
      mmap_threshold_scenario(),
      cvs_pagealign_scenario(),
      openbsd_cvs_scenario(),
      pagealign_bench_scenario(),
      lmdb_synthetic_scenario(),
      lmdb_dust_bricks_scenario(),
      calloc_loop_scenario(),
      ring_mix_scenario(),
      fleet_like_scenario(),
      clone_like_scenario(),
  };
  return list;
}

Result<schema::TapeSummary> write_scenario(const ScenarioOptions& options) {
  const auto scenario = std::ranges::find(scenarios(), options.name, &Scenario::name);
  if (scenario == scenarios().end()) {
    std::vector<std::string> names;
    for (const Scenario& known : scenarios()) names.emplace_back(known.name);
    return Error::usage("there is no scenario '" + options.name + "'" +
                        base::did_you_mean(options.name, names) + "; choose one of " +
                        base::name_list(scenarios(), &Scenario::name));
  }
  if (options.output.empty()) return Error::usage("name the tape to write: -o TAPE");
  HEAPTAPE_ASSIGN_OR_RETURN(const Values values,
                            base::parse_values(std::string("the scenario '") + scenario->name + "'",
                                               scenario->parameters, options.sets));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto tape,
                            schema::TapeWriter::create(options.output, header_of(options)));
  try {
    scenario->generate(values, *tape);
  } catch (const Stopped& stopped) {
    return stopped.error;
  }
  tape->flush();
  // finish() accepts a tape truncated by a full disk.
  HEAPTAPE_RETURN_IF_ERROR(tape->status());
  return tape->finish({});
}

}  // namespace heaptape::scenarios
