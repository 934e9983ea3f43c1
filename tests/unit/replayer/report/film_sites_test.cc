#include "replayer/report/film_sites.h"

#include <gtest/gtest.h>

#include "base/address/pages.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

using base::kPageBytes;
constexpr uint32_t kSites = 10;

// Ten calls, #1 to #10, each of a function of its own, and a film of their blocks: that of #2 has
// two pages, that of #10 has ten.
class FilmSitesTest : public testing::Test {
 protected:
  FilmSitesTest() {
    schema::Stacks stacks;
    std::vector<CodePlace> places{{}};
    std::vector<uint32_t> place_of_frame{0};
    std::vector<schema::Frame> frames;
    for (uint32_t i = 1; i <= kSites; ++i) {
      frames.push_back({0, 0x400000 + i});
      places.push_back({"/opt/app", i, {{"f" + std::to_string(i), "app.cc", i}}});
      place_of_frame.push_back(i);
    }
    stacks.add_frames(0, frames);
    symbols_ = Symbols(places, place_of_frame);
    sites_.emplace(stacks, symbols_, SiteRules());
    write_tape(frames);
    runs_.push_back({.spec = {}, .film = make_film()});
  }

  void write_tape(const std::vector<schema::Frame>& frames) {
    const auto writer = schema::TapeWriter::create(path_, tests::sample_header());
    ASSERT_TRUE(writer.ok());
    schema::TapeEncoder& encoder = (*writer)->encoder();
    encoder.set_has_stacks();
    encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/opt/app", ""});
    for (const schema::Frame& frame : frames) encoder.add_frame(frame);
    for (uint32_t i = 1; i <= kSites; ++i)
      encoder.append(tests::malloc_event(i, kPageBytes * i), i);
    EXPECT_TRUE((*writer)->finish({}).ok());
  }
  static std::shared_ptr<const HeapFilm> make_film() {
    HeapMap map(4, 32);
    map.commit({kPageBytes, 100 * kPageBytes});
    auto film = std::make_shared<HeapFilm>(HeapFilm::Limits{});
    film->begin(kSites, map, std::nullopt, false);
    uint64_t page = 1;
    for (uint64_t i = 1; i <= kSites; ++i) {
      film->add({page * kPageBytes, i * kPageBytes, i * kPageBytes, i, 0});
      page += i;
    }
    film->end();
    return film;
  }
  FilmSites found() {
    auto tape = schema::TapeReader::open(path_);
    EXPECT_TRUE(tape.ok());
    return *film_sites(*tape, runs_, *sites_);
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("a.tape");
  Symbols symbols_;
  std::optional<Sites> sites_;
  std::vector<RunResult> runs_;
};

TEST_F(FilmSitesTest, HaveNamesWhereTheyHaveMostMemory) {
  const FilmSites sites = found();
  ASSERT_EQ(sites.names.size(), 8u);
  EXPECT_TRUE(sites.names.front().starts_with("f10")) << sites.names.front();
  EXPECT_TRUE(sites.names.back().starts_with("f3")) << sites.names.back();
  EXPECT_EQ(sites.by_birth.at(10), FilmSites::kOther + 1);
  EXPECT_EQ(sites.by_birth.at(3), FilmSites::kOther + 8);
}

TEST_F(FilmSitesTest, AreOthersWhereTheyHaveLess) {
  const FilmSites sites = found();
  EXPECT_EQ(sites.by_birth.at(2), FilmSites::kOther);
  EXPECT_EQ(sites.by_birth.at(1), FilmSites::kOther);
}

TEST_F(FilmSitesTest, HaveNamesInCloseupsHoweverLittleTheyHave) {
  const LiveBlock small{.birth = 1};
  const LiveBlock large{.birth = 10};
  const LiveBlock from_before{.birth = 0};
  runs_[0].closeups = {{5, {{{}, {small, from_before}, {}}}}, {9, {{{}, {small, large}, {}}}}};
  const FilmSites sites = found();
  ASSERT_EQ(sites.close_names.size(), 2u);
  EXPECT_TRUE(sites.close_names[0].starts_with("f1 ")) << sites.close_names[0];
  EXPECT_TRUE(sites.close_names[1].starts_with("f10 ")) << sites.close_names[1];
  const std::unordered_map<uint64_t, uint32_t> numbers{{1, 1}, {10, 2}};
  EXPECT_EQ(sites.close_by_birth, numbers);
  EXPECT_EQ(sites.names.size(), 8u);
}

TEST_F(FilmSitesTest, AreNoneWithoutAFilm) {
  runs_[0].film = nullptr;
  EXPECT_TRUE(found().names.empty());
}

}  // namespace
}  // namespace heaptape::replayer
