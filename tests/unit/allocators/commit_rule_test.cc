#include "allocators/commit_rule.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

TEST(CommitRuleText, HasTheNumbersInTheirOrder) {
  EXPECT_EQ(text_of({"% of % bytes", {3, 1'234'567}}), "3 of 1,234,567 bytes");
}

TEST(CommitRuleText, IsEmptyWithoutARule) {
  EXPECT_EQ(text_of({}), "");
}

}  // namespace
}  // namespace heaptape::allocators
