#include "schema/tape/stack_recording.h"

#include <gtest/gtest.h>

namespace heaptape::schema {
namespace {

TEST(AStackRecording, SaysWhichSizesAreComplete) {
  EXPECT_TRUE((StackRecording{StackMode::kUnwindTables, 64, 0}).is_complete(7));
  EXPECT_FALSE((StackRecording{StackMode::kUnwindTables, 64, 512}).is_complete(7));
  const StackRecording chosen{StackMode::kUnwindTables, 64, 512, {{1, 1}, {100, 200}}};
  EXPECT_TRUE(chosen.is_complete(100));
  EXPECT_TRUE(chosen.is_complete(200));
  EXPECT_FALSE(chosen.is_complete(201));
  EXPECT_TRUE(chosen.is_complete(0));  // as one for a byte
}

TEST(AStackRecording, IsTheOptionThatMadeIt) {
  EXPECT_EQ(stacks_option({StackMode::kUnwindTables, 64, 0, {{48, 48}}}), "dwarf,size=48");
  EXPECT_EQ(stacks_option({StackMode::kFramePointers, 30, 524'288, {{48, 48}, {1024, 4096}}}),
            "fp,depth=30,every=512KiB,size=48+1024-4096");
  EXPECT_EQ(stacks_option({StackMode::kUnwindTables, 64, 1'000}), "dwarf,every=1000");
}

TEST(SizesOfAStackRecording, AreNamed) {
  EXPECT_EQ(sizes_text({{1, 1}}), "1 byte");
  EXPECT_EQ(sizes_text({{48, 48}, {64, 64}, {1024, 4096}}), "48, 64 or 1,024 to 4,096 bytes");
}

}  // namespace
}  // namespace heaptape::schema
