// What holds for every scenario, future ones included.
#include "cli/commands.h"
#include "scenarios/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "replayer/engine/slot_resolver.h"
#include "tests/support/golden.h"
#include "tests/support/scenario_tapes.h"
#include "tests/support/tapes.h"

namespace heaptape::scenarios {

// For GoogleTest.
void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

namespace {

std::string listing(cli::ScenarioDetail detail) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Console console(out, err);
  EXPECT_EQ(cli::run_scenario_list(detail, console), 0);
  EXPECT_EQ(err.str(), "");
  return out.str();
}

std::string refusal_of(const ScenarioOptions& options) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Console console(out, err);
  EXPECT_EQ(cli::run_scenario(options, console), 2);
  EXPECT_EQ(out.str(), "");
  return err.str();
}

class EachScenario : public testing::TestWithParam<Scenario> {
 protected:
  std::vector<schema::Event> events(const std::vector<std::string>& sets) {
    return tests::scenario_events(GetParam().name, sets);
  }
};

TEST_P(EachScenario, WritesAWholeTape) {
  for (const auto& sets : tests::quick_variants(GetParam())) {
    const tests::TempDir dir;
    auto tape = schema::TapeReader::open(tests::write_scenario(dir, GetParam().name, sets));
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    EXPECT_GT(tape->events(), 0u);
    EXPECT_EQ(tests::read_events(*tape).size(), tape->events());
    EXPECT_TRUE(tape->damages().empty());
    ASSERT_TRUE(tape->summary().has_value());
    EXPECT_EQ(tape->summary()->losses.lost_events, 0u);
  }
}

TEST_P(EachScenario, WritesTheSameTapeForTheSameValues) {
  for (const auto& sets : tests::quick_variants(GetParam())) EXPECT_EQ(events(sets), events(sets));
}

TEST_P(EachScenario, WritesAnotherTapeForAnotherSeed) {
  const auto seed = std::ranges::find(GetParam().parameters, "seed", &Parameter::name);
  // Nothing is random, or, in openbsd-cvs, malloc does not see it.
  if (seed == GetParam().parameters.end() || GetParam().name == std::string("openbsd-cvs")) return;
  bool differs = false;
  for (auto sets : tests::quick_variants(GetParam())) {
    const auto first = events(sets);
    sets.push_back("seed=" + std::to_string(seed->value + 1));
    differs = differs || events(sets) != first;
  }
  EXPECT_TRUE(differs);
}

TEST_P(EachScenario, FreesOnlyWhatItAllocated) {
  for (const auto& sets : tests::quick_variants(GetParam())) {
    replayer::SlotResolver resolver;
    replayer::ResolvedBatch batch;
    ASSERT_TRUE(resolver.resolve(events(sets), 0, batch).ok());
    EXPECT_EQ(resolver.skipped().unknown_frees, 0u);
    EXPECT_EQ(resolver.skipped().failed_calls, 0u);
  }
}

TEST_P(EachScenario, NeverOverlapsLiveBlocks) {
  for (const auto& sets : tests::quick_variants(GetParam())) {
    std::map<uint64_t, uint64_t> ends;  // of live blocks, by address
    for (const schema::Event& event : events(sets)) {
      ends.erase(event.freed_address);
      if (event.address == 0) continue;
      const auto next = ends.lower_bound(event.address + event.size);
      ASSERT_TRUE(next == ends.begin() || std::prev(next)->second <= event.address);
      ends[event.address] = event.address + event.size;
    }
  }
}

TEST_P(EachScenario, HasAPage) {
  const std::string page =
      tests::read_bytes(tests::golden_path("../../docs/scenarios/") + GetParam().name + ".md");
  EXPECT_NE(page.find(std::string("heaptape scenario ") + GetParam().name), std::string::npos);
  for (const Parameter& parameter : GetParam().parameters) {
    EXPECT_NE(page.find("`" + parameter.name + "`"), std::string::npos) << parameter.name;
  }
}

TEST_P(EachScenario, IsListedOnItsOwnLine) {
  EXPECT_NE(
      ("\n" + listing(cli::ScenarioDetail::kNames)).find(std::string("\n") + GetParam().name + " "),
      std::string::npos);
}

TEST_P(EachScenario, IsListedWithItsParameters) {
  const std::string list = listing(cli::ScenarioDetail::kParameters);
  for (const Parameter& parameter : GetParam().parameters) {
    const std::string entry = "    " + parameter.name + "=" + parameter.default_text() + " ";
    EXPECT_NE(list.find(entry), std::string::npos) << entry;
    for (const std::string& choice : parameter.choices) {
      EXPECT_NE(list.find(choice), std::string::npos) << choice;
    }
  }
}

TEST_P(EachScenario, NamesItsParametersWhenOneIsUnknown) {
  const std::string error =
      refusal_of({.name = GetParam().name, .sets = {"colour=red"}, .output = "unused.tape"});
  EXPECT_NE(error.find("colour"), std::string::npos) << error;
  for (const Parameter& parameter : GetParam().parameters) {
    EXPECT_NE(error.find(parameter.name), std::string::npos) << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenarios, EachScenario, testing::ValuesIn(scenarios()),
                         [](const auto& instance) {
                           std::string name = instance.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(ScenarioCommand, ListsTheNamesWhenOneIsUnknown) {
  const std::string error = refusal_of({.name = "fil", .output = "unused.tape"});
  for (const Scenario& scenario : scenarios()) {
    EXPECT_NE(error.find(scenario.name), std::string::npos) << error;
  }
}

TEST(ScenarioCommand, AsksForATapeToWrite) {
  EXPECT_NE(refusal_of({.name = "fill"}).find("-o TAPE"), std::string::npos);
}

class HugeScenario : public testing::Test {
 protected:
  std::string refusal(const std::string& name, const std::vector<std::string>& sets) {
    const std::string path = dir_.file("t");
    std::string error = refusal_of({.name = name, .sets = sets, .output = path});
    EXPECT_FALSE(std::filesystem::exists(path));
    return error;
  }

  tests::TempDir dir_;
};

TEST_F(HugeScenario, IsRefusedWhenABlockHasNoAddresses) {
  EXPECT_NE(refusal("fill", {"size=9223372036854775808"}).find("2^57"), std::string::npos);
  EXPECT_NE(refusal("sliver-pin", {"buffer=18446744073709551615"}).find("2^57"), std::string::npos);
}

TEST_F(HugeScenario, IsRefusedWhenAllBlocksHaveNoAddresses) {
  EXPECT_NE(refusal("fill", {"size=140737488355328"}).find("2^57"), std::string::npos);
}

TEST_F(HugeScenario, IsRefusedWhenABlockGrowsBeyondAllAddresses) {
  EXPECT_NE(refusal("resize", {"to=9223372036854775808", "step=1TiB"}).find("2^57"),
            std::string::npos);
}

TEST(RandomSlots, HaveSizesFromNothingToAnything) {
  const auto events = tests::scenario_events("random-slots", {"min=0", "max=18446744073709551615"});
  EXPECT_GT(std::ranges::max(events, {}, &schema::Event::size).size, uint64_t{1} << 40);
}

TEST_F(HugeScenario, EndsWhenTheDiskIsFull) {
  const std::vector<std::string> sets = {"count=18446744073709551615"};
  const ScenarioOptions options{.name = "fill", .sets = sets, .output = "/dev/full"};
  EXPECT_NE(refusal_of(options).find("No space left"), std::string::npos);
}

TEST_F(HugeScenario, EndsWhenTheDiskIsFullBeforeDestructorsFree) {
  const ScenarioOptions options{.name = "manifest-patching", .output = "/dev/full"};
  EXPECT_NE(refusal_of(options).find("No space left"), std::string::npos);
}

TEST(ScenarioCommand, AlignsItsList) {
  std::istringstream lines(listing(cli::ScenarioDetail::kNames));
  std::string line;
  size_t column = 0;
  for (size_t i = 0; std::getline(lines, line); ++i) {
    const size_t name = std::string(scenarios().at(i).name).size();
    const size_t description = line.find_first_not_of(' ', name);
    if (column == 0) column = description;
    EXPECT_EQ(description, column) << line;
  }
}

}  // namespace
}  // namespace heaptape::scenarios
