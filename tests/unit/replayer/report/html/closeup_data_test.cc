#include "replayer/report/html/closeup_data.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

TEST(CloseupData, HasColumnsOfStepsFromTheOrigin) {
  FilmSites sites;
  sites.close_names = {"f (a.c:1)"};
  sites.close_by_birth = {{7, 1}};
  const CloseupPart part{.range = {0x2000, 0x4000},
                         .blocks = {{0x1ff0, 40, 33, 7, 0}, {0x3000, 24, 20, 9, 0}},
                         .holes = {{{0x2020, 0x3000}, 4000, 8, 0, 1}}};
  EXPECT_EQ(closeups_json({{10, {part}}}, sites),
            R"([{"at":10,"parts":[{"begin":"2000","end":"4000","origin":"1ff0",)"
            R"("blocks":{"step":[0,4112],"usable":[40,24],"asked":[33,20],"birth":[7,9],)"
            R"("site":[1,0]},)"
            R"("holes":{"step":[48],"bytes":[4064],"resident":[4000],"freed":[8],"before":[1],)"
            R"("after":[2]}}]}])");
}

// The hole at the beginning of a region, of which only the end is in the part.
TEST(CloseupData, BeginsAtAHoleWithoutABlockBefore) {
  const CloseupPart part{.range = {0x9000, 0xa000},
                         .blocks = {{0x9800, 16, 16, 1, 0}},
                         .holes = {{{0x1000, 0x9800}, 0, 0, kNoBlock, 0}}};
  const std::string text = closeups_json({{1, {part}}}, {});
  EXPECT_NE(text.find(R"("origin":"1000")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("before":[0],"after":[1])"), std::string::npos) << text;
}

TEST(CloseupData, IsEmptyWithoutAny) {
  EXPECT_EQ(closeups_json({}, {}), "[]");
}

}  // namespace
}  // namespace heaptape::replayer
