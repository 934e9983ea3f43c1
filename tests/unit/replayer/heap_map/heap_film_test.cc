#include "replayer/heap_map/heap_film.h"
#include "base/address/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace heaptape::replayer {
namespace {

constexpr uint64_t kBase = 0x555555550000;
using base::kPageBytes;

// A heap of blocks by their pages, and its film.
class HeapFilmTest : public testing::Test {
 protected:
  void commit(uint64_t page, uint64_t pages) {
    map_.commit({kBase + page * kPageBytes, kBase + (page + pages) * kPageBytes});
  }
  void place(uint64_t address, uint64_t bytes, uint64_t birth) {
    map_.place(address, bytes);
    blocks_.push_back({address, bytes, bytes, birth, 0});
  }
  void place_page(uint64_t page, uint64_t birth) {
    place(kBase + page * kPageBytes, kPageBytes, birth);
  }
  void shoot(HeapFilm& film, uint64_t at, bool is_kept = false) {
    film.begin(at, map_, absent_, is_kept);
    for (const LiveBlock& block : blocks_) film.add(block);
    film.end();
  }
  // Of the last frame.
  static FilmCell cell_of(const HeapFilm& film, uint64_t address) {
    const auto& numbers = film.cell_numbers();
    const auto found = std::ranges::find(numbers, address / film.cell_bytes());
    EXPECT_NE(found, numbers.end());
    return film.frames().back().cells.at(static_cast<size_t>(found - numbers.begin()));
  }
  static double live_bytes(const FilmFrame& frame) {
    double bytes = 0;
    for (const FilmCell& cell : frame.cells) bytes += cell.live_bytes;
    return bytes;
  }

  HeapMap map_{4, 32};
  std::vector<LiveBlock> blocks_;
  std::optional<std::vector<AddressRange>> absent_ = std::vector<AddressRange>();
};

TEST_F(HeapFilmTest, SharesACellAmongLiveAndFree) {
  commit(0, 4);
  place(kBase + kPageBytes, 1000, 1);  // 63 granules
  absent_ = {{kBase + 3 * kPageBytes, kBase + 4 * kPageBytes}};
  HeapFilm film({});
  shoot(film, 1);
  EXPECT_EQ(cell_of(film, kBase + kPageBytes).live_bytes, 1008);
  EXPECT_EQ(cell_of(film, kBase + kPageBytes).free_resident_bytes, kPageBytes - 1008);
  EXPECT_EQ(cell_of(film, kBase + 2 * kPageBytes).free_resident_bytes, kPageBytes);
  EXPECT_EQ(cell_of(film, kBase + 3 * kPageBytes).free_absent_bytes, kPageBytes);
  EXPECT_EQ(cell_of(film, kBase + 3 * kPageBytes).free_resident_bytes, 0);
}

TEST_F(HeapFilmTest, HasExactSumsOfEachFrame) {
  commit(0, 4);
  map_.place(kBase + kPageBytes, 1000);
  blocks_.push_back({kBase + kPageBytes, 1000, 990, 1, 0});
  absent_ = {{kBase + 3 * kPageBytes, kBase + 4 * kPageBytes}};
  HeapFilm film({});
  shoot(film, 1);
  const HoleStats holes = map_.holes();
  const FilmSums sums{990, 1008, 3 * kPageBytes - 1008, kPageBytes};
  EXPECT_EQ(film.frames()[0].sums, sums);
  EXPECT_EQ(holes.bytes + holes.top_bytes, sums.free_resident_bytes + sums.free_absent_bytes);
  film.halve_cells();
  EXPECT_EQ(film.frames()[0].sums, sums);
}

TEST_F(HeapFilmTest, LeavesOutGapsThatAreTooSmallForABlock) {
  commit(0, 1);
  place(kBase, 2048, 1);
  place(kBase + 2064, 2032, 2);
  HeapFilm film({});
  shoot(film, 2);
  EXPECT_EQ(film.frames()[0].sums.free_resident_bytes, map_.holes().bytes);
  EXPECT_EQ(cell_of(film, kBase).free_resident_bytes, 0);
}

TEST_F(HeapFilmTest, SpreadsABlockOverItsCells) {
  commit(0, 3);
  place(kBase + kPageBytes / 2, 2 * kPageBytes, 1);
  HeapFilm film({});
  shoot(film, 1);
  EXPECT_EQ(cell_of(film, kBase).live_bytes, kPageBytes / 2);
  EXPECT_EQ(cell_of(film, kBase + kPageBytes).live_bytes, kPageBytes);
  EXPECT_EQ(cell_of(film, kBase + 2 * kPageBytes).live_bytes, kPageBytes / 2);
}

TEST_F(HeapFilmTest, TellsTheMeansOfTheBytesOfACell) {
  commit(0, 1);
  place(kBase, 3072, 10);
  place(kBase + 3072, 1024, 50);
  HeapFilm film({});
  shoot(film, 60);
  EXPECT_NEAR(cell_of(film, kBase).birth, 20, 0.01);
  EXPECT_NEAR(cell_of(film, kBase).size_log2, 0.75 * 11.5 + 0.25 * 10, 0.01);
}

TEST_F(HeapFilmTest, DrawsBlocksByTheirBytes) {
  constexpr uint64_t kCells = 1000;
  commit(0, kCells);
  for (uint64_t page = 0; page < kCells; ++page) {
    place(kBase + page * kPageBytes, 3072, 2 * page + 2);
    place(kBase + page * kPageBytes + 3072, 1024, 2 * page + 1);
  }
  HeapFilm film({.cells = kCells});
  shoot(film, 2 * kCells);
  const auto is_large = [](const FilmCell& cell) { return cell.drawn_birth % 2 == 0; };
  const auto large = std::ranges::count_if(film.frames().back().cells, is_large);
  EXPECT_NEAR(static_cast<double>(large) / kCells, 0.75, 0.05);
}

TEST_F(HeapFilmTest, DrawsTheSameBlockAsLongAsNothingChanges) {
  commit(0, 1);
  for (uint64_t i = 0; i < 16; ++i) place(kBase + 256 * i, 256, i + 1);
  HeapFilm film({});
  shoot(film, 20);
  std::ranges::reverse(blocks_);
  shoot(film, 30);
  EXPECT_EQ(film.frames()[0].cells[0].drawn_birth, film.frames()[1].cells[0].drawn_birth);
}

TEST_F(HeapFilmTest, MakesCellsLargerWhereThereWouldBeTooMany) {
  HeapFilm film({.cells = 8});
  commit(0, 4);
  place_page(0, 1);
  shoot(film, 1);
  EXPECT_EQ(film.cell_bytes(), kPageBytes);
  commit(4, 28);
  place_page(17, 2);
  shoot(film, 2);
  EXPECT_EQ(film.cell_bytes(), 4 * kPageBytes);
  EXPECT_EQ(film.cell_numbers().size(), 8u);
  EXPECT_EQ(cell_of(film, kBase + 17 * kPageBytes).live_bytes, kPageBytes);
  EXPECT_EQ(cell_of(film, kBase + 17 * kPageBytes).free_resident_bytes, 3 * kPageBytes);
  EXPECT_EQ(live_bytes(film.frames()[0]), kPageBytes);
  EXPECT_EQ(film.frames()[0].cells[0].drawn_birth, 1u);
}

TEST_F(HeapFilmTest, TakesATebibyteAtOnce) {
  HeapFilm film({.cells = 8});
  map_.commit({kBase, kBase + (uint64_t{1} << 40)});
  place(kBase, uint64_t{1} << 39, 1);
  shoot(film, 1);
  EXPECT_LE(film.cell_numbers().size(), 8u);
  EXPECT_EQ(live_bytes(film.frames()[0]), 0x1p39);
}

TEST_F(HeapFilmTest, TakesABlockOutsideAllRegions) {
  HeapFilm film({});
  commit(0, 1);
  place_page(100, 1);
  shoot(film, 1);
  EXPECT_EQ(cell_of(film, kBase + 100 * kPageBytes).live_bytes, kPageBytes);
}

TEST_F(HeapFilmTest, LeavesHeadersOfRegionsOut) {
  commit(0, 2);
  place(kBase + 0x290, kPageBytes, 1);
  HeapFilm film({});
  shoot(film, 1);
  EXPECT_EQ(cell_of(film, kBase).free_resident_bytes, 0);
  EXPECT_EQ(cell_of(film, kBase).live_bytes, kPageBytes - 0x290);
}

TEST_F(HeapFilmTest, DropsEverySecondFrameOfTooMany) {
  HeapFilm film({.frames = 8});
  commit(0, 1);
  for (uint64_t at = 1; at <= 100; ++at) shoot(film, at, at == 34);
  EXPECT_LE(film.frames().size(), 9u);
  EXPECT_EQ(film.frames().front().at, 1u);
  EXPECT_EQ(film.frames().back().at, 100u);
  EXPECT_EQ(film.offered(), 100u);
  EXPECT_EQ(std::ranges::count(film.frames(), 34u, &FilmFrame::at), 1);
}

TEST_F(HeapFilmTest, TakesTheSecondFrameOfACallForTheFirst) {
  HeapFilm film({});
  commit(0, 1);
  shoot(film, 5, true);
  place_page(0, 5);
  shoot(film, 5);
  ASSERT_EQ(film.frames().size(), 1u);
  EXPECT_TRUE(film.frames()[0].is_kept);
  EXPECT_EQ(film.offered(), 1u);
  EXPECT_EQ(live_bytes(film.frames()[0]), kPageBytes);
}

TEST_F(HeapFilmTest, SaysWhereResidencyIsNotKnown) {
  HeapFilm film({});
  commit(0, 1);
  shoot(film, 1);
  EXPECT_TRUE(film.knows_absent());
  absent_.reset();
  shoot(film, 2);
  EXPECT_FALSE(film.knows_absent());
  EXPECT_EQ(cell_of(film, kBase).free_resident_bytes, kPageBytes);
}

TEST_F(HeapFilmTest, NamesBlocksAndHolesThatCanBeSeen) {
  commit(0, 4);
  place(kBase, 64, 1);
  place(kBase + 2 * kPageBytes, kPageBytes, 2);
  HeapFilm film({});
  shoot(film, 2);
  const auto items = film.items().list();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].range, (AddressRange{kBase + 64, kBase + 2 * kPageBytes}));
  EXPECT_EQ(items[0].birth, 0u);
  EXPECT_EQ(items[1].range, (AddressRange{kBase + 2 * kPageBytes, kBase + 3 * kPageBytes}));
  EXPECT_EQ(items[1].birth, 2u);
}

// Whatever the sizes of cells, nothing is lost.
TEST_F(HeapFilmTest, KeepsSumsWhereCellsAreHalved) {
  commit(0, 16);
  for (uint64_t page = 0; page < 16; page += 3) place_page(page, page + 1);
  HeapFilm film({});
  shoot(film, 40);
  const double before = live_bytes(film.frames()[0]);
  for (const size_t cells : {8, 4, 2, 1}) {
    film.halve_cells();
    EXPECT_EQ(film.cell_numbers().size(), cells);
    EXPECT_EQ(live_bytes(film.frames()[0]), before);
  }
  EXPECT_NEAR(film.frames()[0].cells[0].birth, 8.5, 0.01);
}

// Cells of a page become cells of two when the last block comes; in the other film they are so from
// the beginning.
TEST_F(HeapFilmTest, DrawsTheSameBlockWheneverCellsWereHalved) {
  constexpr uint64_t kCells = 64;
  commit(0, kCells);
  for (uint64_t page = 0; page < kCells; ++page) place_page(page, page + 1);
  place_page(2 * kCells, kCells + 1);
  HeapFilm late({.cells = kCells});
  shoot(late, 100);
  commit(2 * kCells, 1);
  HeapFilm early({.cells = kCells});
  shoot(early, 100);
  ASSERT_EQ(late.cell_bytes(), 2 * kPageBytes);
  ASSERT_EQ(early.cell_bytes(), 2 * kPageBytes);
  for (uint64_t page = 0; page < kCells; page += 2) {
    const uint64_t address = kBase + page * kPageBytes;
    EXPECT_EQ(cell_of(late, address).drawn_birth, cell_of(early, address).drawn_birth) << page;
  }
}

TEST_F(HeapFilmTest, KeepsTheFirstAndTheLastFrameWhereFramesAreHalved) {
  commit(0, 1);
  for (uint64_t frames = 2; frames < 10; ++frames) {
    HeapFilm film({});
    for (uint64_t at = 1; at <= frames; ++at) shoot(film, at);
    film.halve_frames();
    EXPECT_EQ(film.frames().front().at, 1u);
    EXPECT_EQ(film.frames().back().at, frames);
  }
}

}  // namespace
}  // namespace heaptape::replayer
