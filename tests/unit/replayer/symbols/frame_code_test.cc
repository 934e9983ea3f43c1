#include "replayer/symbols/frame_code.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

using schema::CodeMapping;
using schema::Frame;
using schema::FrameNumber;
using schema::Stacks;

// "MODULE+OFFSET" of a frame; "?ADDRESS" without a module, both decimal.
std::string place_of(const Stacks& stacks, FrameNumber frame) {
  const FrameCode code = locate_frames(stacks);
  const CodeSpot& spot = code.spots[code.spot_of_frame[frame]];
  if (spot.module == CodeSpot::kNoModule) return "?" + std::to_string(spot.offset);
  return code.modules[spot.module].path + "+" + std::to_string(spot.offset);
}

CodeMapping mapping(FrameNumber frames, uint64_t begin, uint64_t end, const char* path) {
  return {frames, {begin, end}, 0, path, ""};
}

void add_frames(Stacks& stacks, const std::vector<uint64_t>& return_addresses) {
  for (const uint64_t address : return_addresses) {
    const Frame frame = {0, address};
    stacks.add_frames(stacks.limit() - 1, {&frame, 1});
  }
}

TEST(FrameCode, IsWhereTheCallIs) {
  Stacks stacks;
  stacks.add_mapping({0, {1000, 2000}, 500, "a", ""});
  add_frames(stacks, {1001, 1100, 2000});
  EXPECT_EQ(place_of(stacks, 1), "a+500");
  EXPECT_EQ(place_of(stacks, 2), "a+599");
  EXPECT_EQ(place_of(stacks, 3), "a+1499");
}

TEST(FrameCode, OutsideOfMappingsIsAnAddress) {
  Stacks stacks;
  stacks.add_mapping(mapping(0, 1000, 2000, "a"));
  add_frames(stacks, {1000, 2001});
  EXPECT_EQ(place_of(stacks, 1), "?1000");
  EXPECT_EQ(place_of(stacks, 2), "?2001");
}

TEST(FrameCode, OfEachFunctionMadeAtRunTimeIsAModule) {
  Stacks stacks;
  add_frames(stacks, {1001, 1100, 1500});
  stacks.add_mapping({3, {1000, 1050}, 0, "[jit]", "", "first"});
  stacks.add_mapping({3, {1050, 2000}, 0, "[jit]", "", "second"});
  const FrameCode code = locate_frames(stacks);
  const auto function_of = [&code](FrameNumber frame) {
    return code.modules[code.spots[code.spot_of_frame[frame]].module].function;
  };
  EXPECT_EQ(function_of(1), "first");
  EXPECT_EQ(function_of(2), "second");
  EXPECT_EQ(function_of(3), "second");
  EXPECT_EQ(place_of(stacks, 2), "[jit]+49");
}

TEST(FrameCode, OfACutOrALostFrameIsNothing) {
  Stacks stacks;
  add_frames(stacks, {0});
  const Frame frame = {0, 1500};
  stacks.add_frames(2, {&frame, 1});
  EXPECT_EQ(place_of(stacks, 1), "?0");
  EXPECT_EQ(place_of(stacks, 2), "?0");
  EXPECT_EQ(place_of(stacks, 3), "?1500");
}

TEST(FrameCode, IsOfTheLastMappingSeenBeforeTheFrame) {
  Stacks stacks;
  stacks.add_mapping(mapping(0, 1000, 2000, "a"));
  stacks.add_mapping(mapping(1, 1200, 1400, "b"));
  stacks.add_mapping(mapping(3, 1000, 2000, "c"));
  add_frames(stacks, {1300, 1300, 1100, 1300});
  EXPECT_EQ(place_of(stacks, 1), "a+299");
  EXPECT_EQ(place_of(stacks, 2), "b+99");
  EXPECT_EQ(place_of(stacks, 3), "a+99");
  EXPECT_EQ(place_of(stacks, 4), "c+299");
}

TEST(FrameCode, IsElseOfTheFirstMappingSeenLater) {
  Stacks stacks;
  stacks.add_mapping(mapping(2, 1000, 2000, "a"));
  stacks.add_mapping(mapping(3, 1000, 2000, "b"));
  add_frames(stacks, {1300, 1300, 1300});
  EXPECT_EQ(place_of(stacks, 1), "a+299");
  EXPECT_EQ(place_of(stacks, 2), "a+299");
}

TEST(FrameCode, IsOneSpotForFramesOfOneCall) {
  Stacks stacks;
  stacks.add_mapping(mapping(0, 1000, 2000, "a"));
  stacks.add_mapping(mapping(0, 5000, 6000, "a"));
  add_frames(stacks, {1300, 5300, 1301});
  const FrameCode code = locate_frames(stacks);
  EXPECT_EQ(code.spot_of_frame[1], code.spot_of_frame[2]);
  EXPECT_NE(code.spot_of_frame[1], code.spot_of_frame[3]);
}

TEST(FrameCode, KeepsBuildsOfOnePathApart) {
  Stacks stacks;
  stacks.add_mapping({0, {1000, 2000}, 0, "a", "1"});
  stacks.add_mapping({0, {5000, 6000}, 0, "a", "2"});
  add_frames(stacks, {1300, 5300});
  const FrameCode code = locate_frames(stacks);
  EXPECT_EQ(code.modules.size(), 2u);
  EXPECT_NE(code.spot_of_frame[1], code.spot_of_frame[2]);
}

}  // namespace
}  // namespace heaptape::replayer
