// Plays a scenario on a model, without a replay around it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocators/models/model.h"
#include "scenarios/scenario.h"
#include "schema/op.h"
#include "schema/tape_reader.h"
#include "schema/tape_writer.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

// Writes the tape of a scenario; ends the test with a failure if `sets` are not valid.
inline void write_scenario(const std::string& path, const std::string& name,
                           const std::vector<std::string>& sets) {
  const auto scenario = std::ranges::find(scenarios::scenarios(), name, &scenarios::Scenario::name);
  ASSERT_NE(scenario, scenarios::scenarios().end()) << name;
  const auto values = schema::parse_values(name, scenario->parameters, sets);
  ASSERT_TRUE(values.ok()) << values.error().message;
  auto tape = schema::TapeWriter::create(path, {});
  ASSERT_TRUE(tape.ok());
  scenario->generate(*values, **tape);
  ASSERT_TRUE((*tape)->finish({}).ok());
}

template <allocators::AllocatorModel M>
class ScenarioPlay {
 public:
  // Options of the model as "name=value".
  explicit ScenarioPlay(const std::vector<std::string>& options)
      : model_(space_, *schema::parse_values("the model", M::parameters(), options)) {}

  void play(const std::string& path) {
    auto tape = schema::TapeReader::open(path);
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    schema::EventBatch batch;
    do {
      ASSERT_TRUE(tape->read(batch, 4096).ok());
      for (const schema::Event& event : batch.events) play(event);
      space_.events().clear();
    } while (!batch.events.empty());
  }

  const M& model() const { return model_; }
  uint64_t counter(const std::string& name) const {
    const auto counters = model_.counters();
    const auto found = std::ranges::find(counters, name, &allocators::Counter::name);
    EXPECT_NE(found, counters.end()) << name;
    return found == counters.end() ? 0 : found->value;
  }

 private:
  void play(const schema::Event& event) {
    switch (event.op) {
      case schema::Op::kMalloc:
        blocks_[event.address] = model_.allocate(event.size, 0).address;
        break;
      case schema::Op::kRealloc:
        blocks_[event.address] =
            model_.reallocate(blocks_[event.freed_address], event.size).address;
        break;
      case schema::Op::kFree:
        if (event.freed_address != 0) {
          model_.release(blocks_[event.freed_address]);
        } else if constexpr (requires { model_.release_null(); }) {
          model_.release_null();
        }
        break;
      default:
        FAIL() << "no scenario made of other calls is played so far";
    }
  }

  allocators::AddressSpace space_;
  M model_;
  std::unordered_map<uint64_t, uint64_t> blocks_;  // where the tape has them, and where the model
};

}  // namespace heaptape::tests
