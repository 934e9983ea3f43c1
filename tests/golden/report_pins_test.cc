// Every byte of a report but its times is pinned, for the recorded run and for every model, on
// tapes that make them work: a change of a model, a metric or the report's form shows here, by
// name. HEAPTAPE_UPDATE_GOLDEN=1 writes tests/golden/report-pins.txt anew, where the change is
// meant.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "allocators/catalog/catalog.h"
#include "replayer/engine/replay.h"
#include "replayer/report/report_builder.h"
#include "schema/tape/chunk.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/golden.h"
#include "tests/support/replays.h"
#include "tests/support/scenario_tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

struct PinnedTape {
  const char* scenario;
  std::vector<std::string> sets;
};

const PinnedTape kTapes[] = {
    {"fleet-like", {"events=20000", "live=1000"}},
    {"manifest-patching", {"manifests=20", "length=50000"}},
    {"mmap-threshold", {}},
    {"cvs-pagealign", {"bytes=1MiB"}},
    {"lmdb-synthetic", {"ids=5090", "max_run=4", "n=5"}},
    {"ring-mix", {"rounds=10", "calloc=1"}},
};

// Those whose answers depend on no library of this machine.
std::vector<std::string> pinned_specs() {
  std::vector<std::string> specs = {"recorded"};
  for (const auto& entry : allocators::catalog()) {
    if (entry.name.starts_with("model:")) specs.push_back(entry.name);
  }
  return specs;
}

// The report of one replay, without its times and the path of the tape.
std::string lasting_report(const std::string& path, const std::string& spec) {
  auto options = tests::replay_options({spec});
  options.samples = 16;
  auto tape = schema::TapeReader::open(path);
  if (!tape.ok()) return tape.error().message;
  auto runs = replayer::replay(*tape, options, [](double) {});
  if (!runs.ok()) return runs.error().message;
  for (auto& run : *runs) {
    run.metrics.replay_ns = run.metrics.replay_ns_min = run.metrics.replay_ns_max = 0;
  }
  const auto report = replayer::build_report(*tape, *runs, options);
  if (!report.ok()) return report.error().message;
  std::string text = report->json + report->timeline_csv;
  for (size_t at = 0; (at = text.find(path)) != std::string::npos;) {
    text.replace(at, path.size(), "TAPE");
  }
  return text;
}

std::string pin(const std::string& text) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  char line[64];
  std::snprintf(line, sizeof line, "%08x %zu bytes", schema::crc32_of({bytes, text.size()}),
                text.size());
  return line;
}

TEST(Reports, AreByteForByteWhatTheyWere) {
  const tests::TempDir dir;
  std::string pins;
  for (const PinnedTape& tape : kTapes) {
    const std::string path = tests::write_scenario(dir, tape.scenario, tape.sets);
    for (const std::string& spec : pinned_specs()) {
      pins +=
          std::string(tape.scenario) + " " + spec + " " + pin(lasting_report(path, spec)) + "\n";
    }
  }
  tests::expect_golden("report-pins.txt", pins);
}

}  // namespace
}  // namespace heaptape
