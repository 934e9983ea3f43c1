#include "cli/allocator_words.h"

#include <gtest/gtest.h>

#include <sstream>

namespace heaptape::cli {
namespace {

class UsableSpecs : public testing::Test {
 protected:
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(UsableSpecs, AreThoseThatAreThere) {
  const auto specs = usable_specs({"recorded", "lib:./no-such-malloc.so", "model:bump"}, console_);
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[1].label, "model:bump");
}

TEST_F(UsableSpecs, SayWhichAreLeftOutAndWhy) {
  usable_specs({"recorded", "lib:./no-such-malloc.so"}, console_);
  EXPECT_TRUE(
      err_.str().starts_with("heaptape: note: replaying without 'lib:./no-such-malloc.so': "))
      << err_.str();
  EXPECT_NE(err_.str().find("there is no file"), std::string::npos) << err_.str();
}

TEST_F(UsableSpecs, SayNothingWhereAllAreThere) {
  usable_specs({"recorded", "noop"}, console_);
  EXPECT_EQ(err_.str(), "");
}

TEST(DefaultAllocators, AreInTheCatalog) {
  for (const std::string& name : default_allocators()) {
    EXPECT_TRUE(allocators::parse_spec(name).ok()) << name;
  }
}

}  // namespace
}  // namespace heaptape::cli
