#include "replayer/report/html/film_data.h"

#include <gtest/gtest.h>
#include <kj/encoding.h>

#include <algorithm>
#include <memory>

#include "base/address/pages.h"
#include "tests/support/gunzip.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using base::kPageBytes;
constexpr size_t kAnySize = 1 << 24;

// Films of one region of pages.
class FilmData : public testing::Test {
 protected:
  void begin(uint64_t pages, const HeapFilm::Limits& limits = {}) {
    map_.commit({kPageBytes, (pages + 1) * kPageBytes});
    film_ = std::make_shared<HeapFilm>(limits);
  }
  void shoot(uint64_t at, const std::vector<LiveBlock>& blocks) {
    film_->begin(at, map_, std::nullopt, false);
    for (const LiveBlock& block : blocks) film_->add(block);
    film_->end();
  }
  std::string written(size_t most_bytes = kAnySize, size_t runs = 1) const {
    JsonWriter out;
    const RunResult run{.spec = {}, .film = film_};
    write_films(out, std::vector<RunResult>(runs, run), {}, most_bytes);
    return out.text();
  }
  std::string items() const { return unpacked("items"); }
  // Of the first run.
  std::string unpacked(const std::string& name) const {
    const std::string text = written();
    const std::string field = "\"" + name + "\":\"";
    const size_t begin = text.find(field) + field.size();
    const size_t end = text.find('"', begin);
    const auto bytes = kj::decodeBase64(kj::ArrayPtr<const char>(&text[begin], &text[end]));
    return tests::gunzip(std::string(bytes.begin(), bytes.end()));
  }

  HeapMap map_{4, 32};
  std::shared_ptr<HeapFilm> film_;
};

LiveBlock pages(uint64_t first, uint64_t count, uint64_t birth) {
  return {first * kPageBytes, count * kPageBytes, count * kPageBytes, birth, 0};
}

TEST_F(FilmData, HasItemsFromTheirFirstFrameToTheirLast) {
  begin(2);
  shoot(10, {pages(1, 1, 1)});
  shoot(20, {pages(1, 1, 1), pages(2, 1, 15)});
  shoot(30, {pages(2, 1, 15)});
  EXPECT_EQ(items(), R"({"begin":["1000","2000"],"bytes":[4096,4096],"birth":[1,15],)"
                     R"("asked":[4096,4096],"first":[0,1],"last":[1,2]})");
}

// The plane of live shares is the first.
TEST_F(FilmData, HasOneLevelAtLeastWhereACellHasAnythingLive) {
  begin(2);
  shoot(10, {{kPageBytes, 16, 16, 1, 0}, pages(2, 1, 2)});
  EXPECT_EQ(unpacked("packed").substr(0, 2), (std::string{1, 31}));
}

TEST_F(FilmData, HasTheSumsOfEachFrame) {
  begin(4);
  shoot(10, {pages(1, 1, 1)});
  map_.place(kPageBytes, kPageBytes);
  map_.place(3 * kPageBytes, kPageBytes);
  shoot(20, {pages(1, 1, 1), {3 * kPageBytes, kPageBytes, 4000, 15, 0}});
  EXPECT_EQ(unpacked("sums"), R"({"live":[4096,8096],"blocks":[4096,8192],)"
                              R"("freeResident":[16384,8192],"freeAbsent":[0,0]})");
}

TEST_F(FilmData, HasTheLargestOfTooManyItems) {
  begin(3000, {.cells = 4096});
  std::vector<LiveBlock> blocks;
  for (uint64_t i = 0; i < 1100; ++i) blocks.push_back(pages(1 + i, 1, i + 1));
  for (uint64_t i = 0; i < 100; ++i) blocks.push_back(pages(1101 + 2 * i, 2, 2000 + i));
  shoot(3000, blocks);
  const std::string text = items();
  const size_t sizes = text.find("\"bytes\":");
  size_t large = 0;
  for (size_t at = sizes; (at = text.find("8192", at + 1)) < text.find("\"birth\":");) ++large;
  EXPECT_EQ(large, 100u);
  EXPECT_EQ(std::ranges::count(text.substr(sizes, text.find(']', sizes) - sizes), ','), 1023);
}

TEST_F(FilmData, SharesTheRoomAmongTheRuns) {
  constexpr size_t kRoom = 16'000;
  begin(256);
  tests::Random random(1);
  for (uint64_t at = 1; at <= 48; ++at) {
    std::vector<LiveBlock> blocks;
    for (uint64_t page = 1; page <= 256; ++page) {
      if (random.chance(2)) blocks.push_back(pages(page, 1, 1 + random.below(at)));
    }
    shoot(at, blocks);
  }
  for (const size_t runs : {1, 2, 4}) {
    EXPECT_LT(written(kRoom, runs).size(), kRoom + 1000 * runs);
    EXPECT_GT(written(kRoom, runs).size(), kRoom / 3);
  }
}

TEST_F(FilmData, IsNullWithoutAFilm) {
  EXPECT_EQ(written(), "null");
}

}  // namespace
}  // namespace heaptape::replayer
