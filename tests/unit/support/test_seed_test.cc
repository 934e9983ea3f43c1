#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

class TestSeed : public testing::Test {
 protected:
  TestSeed() {
    if (const char* given = std::getenv(kVariable)) given_ = given;
    unsetenv(kVariable);
  }
  ~TestSeed() override {
    if (!given_.empty()) setenv(kVariable, given_.c_str(), 1);
  }

  static constexpr const char* kVariable = "HEAPTAPE_TEST_SEED";
  std::string given_;
};

TEST_F(TestSeed, IsTheSameInEveryRun) {
  EXPECT_EQ(test_seed(), test_seed());
}

TEST_F(TestSeed, IsTheOneOfTheEnvironmentIfThereIsOne) {
  setenv(kVariable, "4711", 1);
  EXPECT_EQ(test_seed(), 4711u);
  unsetenv(kVariable);
}

}  // namespace
}  // namespace heaptape::tests
