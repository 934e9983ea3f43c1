#include "recorder/interposer/lasting_settings.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace heaptape::recorder {
namespace {

using schema::SteeringOp;
using Calls = std::vector<std::tuple<SteeringOp, int64_t, int64_t>>;

class LastingSettingsTest : public testing::Test {
 protected:
  Calls calls() const {
    Calls all;
    settings_.for_each(
        [&](SteeringOp op, int64_t first, int64_t second) { all.emplace_back(op, first, second); });
    return all;
  }
  LastingSettings settings_ = {};
};

TEST_F(LastingSettingsTest, HaveTheLastValueOfEach) {
  settings_.note(SteeringOp::kMallopt, -3, 65536);
  settings_.note(SteeringOp::kMallopt, -1, -1);
  settings_.note(SteeringOp::kDefaultDirtyDecay, 1000, 0);
  settings_.note(SteeringOp::kMallopt, -3, 4096);
  settings_.note(SteeringOp::kDefaultDirtyDecay, -1, 0);
  EXPECT_EQ(calls(), (Calls{{SteeringOp::kMallopt, -1, -1},
                            {SteeringOp::kMallopt, -3, 4096},
                            {SteeringOp::kDefaultDirtyDecay, -1, 0}}));
}

TEST_F(LastingSettingsTest, ComeInTheOrderOfTheirLastCalls) {
  constexpr int64_t kAll = 4096;
  settings_.note(SteeringOp::kArenaDirtyDecay, kAll, 0);
  settings_.note(SteeringOp::kArenaDirtyDecay, 3, 1000);
  settings_.note(SteeringOp::kArenaDirtyDecay, kAll, 5);
  EXPECT_EQ(calls(), (Calls{{SteeringOp::kArenaDirtyDecay, 3, 1000},
                            {SteeringOp::kArenaDirtyDecay, kAll, 5}}));
}

TEST_F(LastingSettingsTest, OmitWhatIsDoneOnceAndWhatConcernsOneThread) {
  settings_.note(SteeringOp::kMallocTrim, 0, 0);
  settings_.note(SteeringOp::kArenaDecay, 1, 0);
  settings_.note(SteeringOp::kEnableThreadCache, 0, 0);
  EXPECT_TRUE(calls().empty());
}

TEST_F(LastingSettingsTest, AreNoMoreThanThereIsRoomFor) {
  for (int64_t arena = 0; arena < 100; ++arena) {
    settings_.note(SteeringOp::kArenaDirtyDecay, arena, arena + 1);
  }
  settings_.note(SteeringOp::kArenaDirtyDecay, 63, 7);
  ASSERT_EQ(calls().size(), 64u);
  EXPECT_EQ(calls()[63], (Calls::value_type{SteeringOp::kArenaDirtyDecay, 63, 7}));
}

}  // namespace
}  // namespace heaptape::recorder
