#include "scenarios/scenario.h"

#include <unistd.h>

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <string_view>

#include "scenarios/basic.h"
#include "scenarios/fleet_like.h"
#include "scenarios/heap_writer.h"
#include "scenarios/large_blocks.h"
#include "scenarios/lmdb.h"
#include "scenarios/manifest_patching.h"
#include "scenarios/mmap_threshold.h"
#include "scenarios/pagealign.h"
#include "scenarios/sliver_pin.h"
#include "schema/name_list.h"
#include "schema/pages.h"
#include "schema/version.h"

namespace heaptape::scenarios {
namespace {

using schema::Error;
using schema::ErrorCode;
using schema::Result;

Error usage(std::string message) {
  return {ErrorCode::kUsage, std::move(message), std::nullopt};
}

schema::TapeHeader header_of(const ScenarioOptions& options) {
  schema::TapeHeader header;
  header.writer = std::string("heaptape ") + schema::kVersion;
  header.command_line = {"heaptape", "scenario", options.name};
  for (const std::string& set : options.sets) {
    header.command_line.insert(header.command_line.end(), {"--set", set});
  }
  header.allocator = "scenario";
  header.page_bytes = static_cast<uint32_t>(schema::kPageBytes);
  return header;
}

Result<schema::TapeSummary> write_scenario(const ScenarioOptions& options) {
  const auto scenario = std::ranges::find(scenarios(), options.name, &Scenario::name);
  if (scenario == scenarios().end()) {
    return usage("there is no scenario '" + options.name + "'; there are " +
                 schema::name_list(scenarios(), &Scenario::name));
  }
  if (options.output.empty()) return usage("give the tape to write with -o TAPE");
  HEAPTAPE_ASSIGN_OR_RETURN(
      const Values values,
      schema::parse_values(std::string("the scenario '") + scenario->name + "'",
                           scenario->parameters, options.sets));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto tape,
                            schema::TapeWriter::create(options.output, header_of(options)));
  try {
    scenario->generate(values, *tape);
  } catch (const Stopped& stopped) {
    return stopped.error;
  }
  tape->flush();
  // finish() would take a tape that a full disk cut short.
  HEAPTAPE_RETURN_IF_ERROR(tape->status());
  return tape->finish({});
}

void list(bool verbose, std::ostream& out) {
  size_t width = 0;
  for (const Scenario& scenario : scenarios()) {
    width = std::max(width, std::string_view(scenario.name).size());
  }
  for (const Scenario& scenario : scenarios()) {
    out << std::left << std::setw(static_cast<int>(width)) << scenario.name << "  "
        << scenario.description << "\n";
    if (verbose) out << schema::parameter_lines(scenario.parameters, "    ");
  }
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
  };
  return list;
}

int run_scenario(const ScenarioOptions& options, std::ostream& out, std::ostream& err) {
  if (options.name == "list") {
    list(options.verbose, out);
    return 0;
  }
  const auto summary = write_scenario(options);
  if (!summary.ok()) {
    err << "heaptape: " << summary.error().message << "\n";
    return 2;
  }
  out << options.output << ": " << summary->events << " events\n";
  return 0;
}

}  // namespace heaptape::scenarios
