#include "replayer/engine/tape_moments.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::replayer {
namespace {

TEST(ParseMoment, TakesTheNamesOfMoments) {
  for (const char* const name : {"peak", "plateau", "exit", "end"}) {
    EXPECT_EQ(parse_moment(name)->name, name);
    EXPECT_EQ(parse_moment(name)->kind, MomentRequest::Kind::kFound);
  }
}

TEST(ParseMoment, TakesCalls) {
  for (const char* const text : {"#1500", "1500", "1,500", "#1,500", "1.5k"}) {
    EXPECT_EQ(parse_moment(text)->event, 1500u) << text;
    EXPECT_EQ(parse_moment(text)->name, "#1500") << text;
  }
}

TEST(ParseMoment, TakesTimes) {
  EXPECT_EQ(parse_moment("12.5s")->time_ns, 12'500'000'000u);
  EXPECT_EQ(parse_moment("800ms")->time_ns, 800'000'000u);
}

TEST(ParseMoment, RefusesWhatIsNeither) {
  for (const char* const text :
       {"", "#", "s", "plato", "-1", "1.5", "-1s", "nans", "1e99s", "#1s"}) {
    EXPECT_FALSE(parse_moment(text).ok()) << text;
  }
}

TEST(ParseMoment, SaysThatTapesHaveNoMarks) {
  EXPECT_NE(parse_moment("mark:load").error().message.find("no marks"), std::string::npos);
}

// A block, then one more, which is freed, and the end of the first.
class MomentsOfATape : public testing::Test {
 protected:
  schema::TapeReader tape(const std::vector<schema::Event>& events) {
    tests::write_tape(path_, events);
    return std::move(*schema::TapeReader::open(path_));
  }
  std::vector<schema::Event> events(size_t kept, size_t freed) {
    std::vector<schema::Event> events;
    for (size_t i = 0; i < kept + freed; ++i) {
      events.push_back(tests::malloc_event(100, 0x10000 + 128 * i));
    }
    for (size_t i = 0; i < freed; ++i) events.push_back(tests::free_event(0x10000 + 128 * i));
    return events;
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("m.tape");
};

TEST_F(MomentsOfATape, AreInTheOrderOfCalls) {
  auto reader = tape(events(10, 990));
  const auto moments = find_moments(reader, UINT64_MAX, nullptr);
  ASSERT_TRUE(moments.ok());
  ASSERT_EQ(moments->size(), 3u);
  EXPECT_EQ((*moments)[0], (Moment{"peak", 1000}));
  EXPECT_EQ((*moments)[1], (Moment{"exit", 1000}));
  EXPECT_EQ((*moments)[2], (Moment{"end", 1990}));
}

TEST_F(MomentsOfATape, AreThoseOfTheFirstCallsAlone) {
  auto reader = tape(events(10, 990));
  const auto moments = find_moments(reader, 500, nullptr);
  EXPECT_EQ(moments->back().event, 500u);
  EXPECT_EQ(moments->front().event, 500u);
}

TEST_F(MomentsOfATape, LeaveItAtItsBeginning) {
  auto reader = tape(events(10, 990));
  ASSERT_TRUE(find_moments(reader, UINT64_MAX, nullptr).ok());
  schema::EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 1).ok());
  EXPECT_EQ(batch.first_event, 0u);
}

TEST_F(MomentsOfATape, ThatIsNotThereIsAnError) {
  auto reader = tape(events(10, 990));
  EXPECT_FALSE(find_moment(reader, *parse_moment("plateau"), nullptr).ok());
  EXPECT_FALSE(find_moment(reader, *parse_moment("#1991"), nullptr).ok());
  EXPECT_FALSE(find_moment(reader, *parse_moment("1s"), nullptr).ok());
  EXPECT_EQ(find_moment(reader, *parse_moment("#1990"), nullptr)->event, 1990u);
}

TEST_F(MomentsOfATape, WithoutARequestIsTheExitWhereThereIsNoPlateau) {
  auto reader = tape(events(10, 990));
  EXPECT_EQ(find_moment(reader, MomentRequest(), nullptr)->name, "exit");
}

}  // namespace
}  // namespace heaptape::replayer
