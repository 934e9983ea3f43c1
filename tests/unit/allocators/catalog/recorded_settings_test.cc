#include "allocators/catalog/recorded_settings.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

using Settings = std::vector<std::string>;

class RecordedSettingsTest : public testing::Test {
 protected:
  RecordedSettings on(const std::string& spec, Steer steer = Steer::kAsRecorded) {
    schema::TapeHeader header = tests::sample_header();
    header.recorded_allocator.family = family_;
    header.settings = settings_;
    return with_recorded_settings(*parse_spec(spec), header, steer);
  }

  std::string family_ = "glibc";
  Settings settings_ = {"MALLOC_MMAP_THRESHOLD_=65536",
                        "GLIBC_TUNABLES=glibc.malloc.tcache_count=3:glibc.malloc.mxfast=0",
                        "MALLOC_CONF=narenas:1"};
};

TEST_F(RecordedSettingsTest, ApplyToAnAllocatorOfTheFamily) {
  const RecordedSettings recorded = on("glibc");
  EXPECT_EQ(recorded.obeyed,
            (Settings{settings_[0], "glibc.malloc.tcache_count=3", "glibc.malloc.mxfast=0"}));
  EXPECT_EQ(recorded.environment, (Settings{settings_[0], settings_[1]}));
  EXPECT_TRUE(recorded.left_out.empty());
}

TEST_F(RecordedSettingsTest, JoinListsOfTheSpec) {
  EXPECT_EQ(on("glibc GLIBC_TUNABLES=glibc.malloc.mxfast=64").environment,
            (Settings{"GLIBC_TUNABLES=glibc.malloc.tcache_count=3:glibc.malloc.mxfast=64",
                      settings_[0]}));
  family_ = "jemalloc";
  settings_ = {"MALLOC_CONF=dirty_decay_ms:0,narenas:2"};
  const RecordedSettings recorded = on("jemalloc MALLOC_CONF=narenas:1");
  EXPECT_EQ(recorded.environment, (Settings{"MALLOC_CONF=dirty_decay_ms:0,narenas:1"}));
  EXPECT_EQ(recorded.obeyed, (Settings{"dirty_decay_ms=0"}));
}

TEST_F(RecordedSettingsTest, LeaveSettingsOfTheSpecUnderAnotherName) {
  settings_ = {"GLIBC_TUNABLES=glibc.malloc.arena_max=1"};
  EXPECT_EQ(on("glibc MALLOC_ARENA_MAX=4").environment, (Settings{"MALLOC_ARENA_MAX=4"}));
}

// Which of two entries of one name counts depends on who reads them.
TEST_F(RecordedSettingsTest, LeaveVariablesOfTheSpecAsTheyAre) {
  EXPECT_EQ(on("glibc MALLOC_MMAP_THRESHOLD_=1").environment,
            (Settings{"MALLOC_MMAP_THRESHOLD_=1", settings_[1]}));
}

TEST_F(RecordedSettingsTest, AreOptionsOfAModelOfTheFamily) {
  const RecordedSettings recorded = on("model:ptmalloc");
  EXPECT_EQ(recorded.options["mmap_threshold"], 65536u);
  EXPECT_EQ(recorded.options["tcache_count"], 3u);
  EXPECT_EQ(recorded.obeyed,
            (Settings{"MALLOC_MMAP_THRESHOLD_=65536", "glibc.malloc.tcache_count=3"}));
  EXPECT_EQ(recorded.left_out, (Settings{"glibc.malloc.mxfast=0"}));
}

TEST_F(RecordedSettingsTest, LeaveOptionsOfTheSpecAsTheyAre) {
  EXPECT_EQ(on("model:ptmalloc:tcache_count=7").options["tcache_count"], 7u);
}

TEST_F(RecordedSettingsTest, OfJemallocAreThoseOfModelSlabs) {
  family_ = "jemalloc";
  settings_ = {"MALLOC_CONF=dirty_decay_ms:0,narenas:2,tcache:false,muzzy_decay_ms:-1"};
  const RecordedSettings recorded = on("model:slabs");
  EXPECT_EQ(recorded.options["dirty_decay_ms"], 0u);
  EXPECT_EQ(recorded.options["arenas"], 2u);
  EXPECT_FALSE(recorded.options.is_on("tcache"));
  EXPECT_EQ(recorded.left_out, (Settings{"muzzy_decay_ms=-1"}));
}

TEST_F(RecordedSettingsTest, DoNotApplyToOtherFamilies) {
  const RecordedSettings recorded = on("jemalloc");
  EXPECT_TRUE(recorded.environment.empty());
  EXPECT_TRUE(recorded.obeyed.empty());
  EXPECT_EQ(recorded.left_out, (Settings{"MALLOC_MMAP_THRESHOLD_=65536",
                                         "glibc.malloc.tcache_count=3", "glibc.malloc.mxfast=0"}));
}

TEST_F(RecordedSettingsTest, AreLeftOutIfSteeringIsOff) {
  EXPECT_TRUE(on("glibc", Steer::kOff).environment.empty());
  EXPECT_TRUE(on("glibc", Steer::kOff).obeyed.empty());
  EXPECT_FALSE(on("glibc", Steer::kOff).left_out.empty());
  EXPECT_EQ(on("model:ptmalloc", Steer::kOff).options["tcache_count"], 7u);
}

}  // namespace
}  // namespace heaptape::allocators
