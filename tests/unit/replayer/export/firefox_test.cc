// The fields and sums of whole profiles: tests/python/trace_export_test.py.
#include <capnp/compat/json.h>
#include <capnp/message.h>
#include <gtest/gtest.h>

#include "replayer/export/history_formats.h"
#include "tests/support/exports.h"

namespace heaptape::replayer {
namespace {

// A block that came and went, and one whose parts go one after another.
HeapHistory two_stacks() {
  HeapHistory history;
  history.end_ns = 4'000'500;
  history.series = {{"liveBytes", true, {{0, 0}, {1'000'000, 300}, {2'000'000, 120}}}};
  history.moments = {{"peak", 1'000'000, {{2, {1, 300, 1, 300}}, {4, {2, 57, 1, 7}}}},
                     {"", 2'000'000, {{2, {1, 300, 1, 120}}}},
                     {"end", 4'000'500, {{2, {1, 300, 0, 0}}}}};
  return history;
}

std::string profile(const HeapHistory& history, StackValue shown = StackValue::kPeak,
                    const tests::SampleStacks& sample = tests::SampleStacks()) {
  return firefox_profile({42, "a\"pp", 1'000'000}, history, &sample.shown(), shown);
}

bool is_json(const std::string& text) {
  capnp::MallocMessageBuilder message;
  try {
    capnp::JsonCodec().decodeRaw(kj::StringPtr(text.c_str(), text.size()),
                                 message.initRoot<capnp::JsonValue>());
  } catch (const kj::Exception&) {
    return false;
  }
  return true;
}

TEST(Firefox, HasBlocksThatAreFreedInParts) {
  const std::string text = profile(two_stacks());
  EXPECT_TRUE(is_json(text));
  for (const char* const part :
       {R"("time":[1,1,1,1,1,2,4.000500])", R"("weight":[50,180,120,7,-50,-180,-120])",
        R"("memoryAddress":[1,2,3,4,1,2,3])"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(Firefox, HasDifferencesAsCounts) {
  EXPECT_NE(profile(two_stacks()).find(R"("count":[0,300,-180])"), std::string::npos);
}

// The viewer takes the first count for 0.
TEST(Firefox, BeginsSeriesAtZero) {
  HeapHistory history = two_stacks();
  history.series = {{"residentBytes", true, {{2'000'000, 70}, {3'000'000, 80}}}};
  EXPECT_NE(profile(history).find(R"("time":[2,2,3],"count":[0,70,10],"length":3)"),
            std::string::npos);
}

TEST(Firefox, SelectsTheThreadOfAValue) {
  EXPECT_NE(profile(two_stacks(), StackValue::kEnd).find(R"("initialSelectedThreads":[2])"),
            std::string::npos);
  EXPECT_NE(profile(two_stacks(), StackValue::kBytes).find(R"("initialSelectedThreads":[0])"),
            std::string::npos);
}

TEST(Firefox, SurvivesNamesOfAnyKind) {
  const std::string hostile = "a\"\\\n\xff" + std::string(100'000, 'x');
  const Symbols symbols({{}, {hostile, 1, {{hostile, hostile, 3}}}}, {0, 1, 1, 1, 1});
  const std::string text =
      profile(two_stacks(), StackValue::kPeak, tests::SampleStacks({}, symbols));
  EXPECT_TRUE(is_json(text));
  EXPECT_NE(text.find(std::string(100'000, 'x')), std::string::npos);
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(Firefox, HasFiguresWithoutStacks) {
  const std::string text = firefox_profile({42, "app", 0}, two_stacks(), nullptr, StackValue::kEnd);
  EXPECT_TRUE(is_json(text));
  EXPECT_EQ(text.find("nativeAllocations"), std::string::npos);
  EXPECT_NE(text.find(R"("initialSelectedThreads":[0])"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
