// The example that users copy keeps every promise, whatever the calls.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/replays.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

class RandomPluginReplay : public testing::Test {
 protected:
  static std::string spec(const std::string& options) {
    return "plugin:" + tests::target_path("libsize_classes.so") + options;
  }
  // Fails the test on any fault: samples at every tenth event look at the plug-in's own count.
  static std::vector<replayer::RunMetrics> replay(const std::vector<schema::Event>& events,
                                                  const std::vector<std::string>& specs) {
    auto options = tests::replay_options(specs);
    options.samples = static_cast<uint32_t>(events.size() / 10);
    return tests::replay_events(events, options);
  }

  tests::SeededRandom random_;
};

TEST_F(RandomPluginReplay, HasNoFaults) {
  for (const char* options : {"", ":min_block=64", ":min_block=65536"}) {
    const auto events = tests::eventful_events(random_, 10000, 16, true);
    const auto runs = replay(events, {spec(options)});
    ASSERT_EQ(runs.size(), 1u) << options;
    EXPECT_EQ(runs[0].accounting.refused, 0u) << options;
  }
}

TEST_F(RandomPluginReplay, IsTheSameWithoutChecksAndTheSecondTime) {
  const auto events = tests::eventful_events(random_, 10000);
  const auto runs = replay(events, {spec(""), "b=" + spec(":check=off"), "c=" + spec("")});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(tests::lasting_text(runs[0]), tests::lasting_text(runs[1]));
  EXPECT_EQ(tests::lasting_text(runs[0]), tests::lasting_text(runs[2]));
}

}  // namespace
}  // namespace heaptape
