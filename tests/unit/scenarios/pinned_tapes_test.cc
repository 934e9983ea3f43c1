// The calls of every scenario, pinned: figures in the docs, and in others' reports, stand on them.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "schema/tape/tape_text.h"
#include "tests/support/golden.h"
#include "tests/support/scenario_tapes.h"
#include "tests/support/tapes.h"

namespace heaptape::scenarios {
namespace {

constexpr const char* kWhatToDo =
    "The calls or the defaults of a scenario have changed. Measured figures stand on them: if the "
    "change is meant, run this test with HEAPTAPE_UPDATE_GOLDEN=1, correct the figures on the "
    "scenario's page, and say so in CHANGELOG.md.";

// FNV-1a of the calls as text. Not of the file: another zstd may write other bytes.
std::string hash_of(const std::vector<schema::Event>& events) {
  uint64_t hash = 0xcbf29ce484222325;
  std::string line;
  for (size_t i = 0; i < events.size(); ++i) {
    line.clear();
    schema::append_event(line, schema::TextFormat::kText, i + 1, events[i]);
    for (const unsigned char byte : line) hash = (hash ^ byte) * 0x100000001b3;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash);
  return text;
}

// The defaults, then for each quick variant its parameters, the number of calls and their hash.
std::string description_of(const Scenario& scenario) {
  std::string text = scenario.name;
  for (const Parameter& parameter : scenario.parameters) {
    text += " " + parameter.name + "=" + parameter.default_text();
  }
  for (const auto& sets : tests::quick_variants(scenario)) {
    const auto events = tests::scenario_events(scenario.name, sets);
    text += "\n  ";
    for (const std::string& set : sets) text += set + " ";
    text += std::to_string(events.size()) + " calls " + hash_of(events);
  }
  return text + "\n";
}

TEST(ScenarioTapes, HoldTheCallsThatFiguresStandOn) {
  SCOPED_TRACE(kWhatToDo);
  std::string text;
  for (const Scenario& scenario : scenarios()) text += description_of(scenario);
  tests::expect_golden("scenario_tapes.txt", text);
}

TEST(ScenarioTapes, HaveAHeaderOfTheCommandAlone) {
  const tests::TempDir dir;
  const auto tape = schema::TapeReader::open(tests::write_scenario(dir, "fill", {"count=1"}));
  ASSERT_TRUE(tape.ok());
  schema::TapeHeader header;
  header.writer = tape->header().writer;  // has the version
  header.command_line = {"heaptape", "scenario", "fill", "--set", "count=1"};
  header.allocator = "scenario";
  header.page_bytes = 4096;
  EXPECT_EQ(tape->header(), header);
}

}  // namespace
}  // namespace heaptape::scenarios
