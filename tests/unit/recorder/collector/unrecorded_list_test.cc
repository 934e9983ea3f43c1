#include "recorder/collector/unrecorded_list.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

class UnrecordedListTest : public testing::Test {
 protected:
  // A notice as a process leaves it, in the first free place.
  void post(Unrecorded reason, const std::string& path, int32_t times = 1) {
    uint32_t index = 0;
    while (notice(index).state != NoticeState::kFree) ++index;
    notice(index).reason = reason;
    notice(index).times = times;
    std::memcpy(notice(index).path, path.c_str(), path.size() + 1);
    notice(index).state = NoticeState::kReady;
  }
  Notice& notice(uint32_t index) const { return session_.view().notice(index); }
  std::vector<schema::ManifestUnrecorded> collected() {
    list_.collect(session_.view());
    return list_.entries();
  }

  tests::FakeSession session_;
  UnrecordedList list_;
};

TEST_F(UnrecordedListTest, CountsByProgramAndReason) {
  post(Unrecorded::kStatic, "/bin/a");
  post(Unrecorded::kSanitizer, "/bin/b");
  post(Unrecorded::kSanitizer, "/bin/b");
  post(Unrecorded::kStatic, "/bin/b");
  const auto entries = collected();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].program, "/bin/b");  // the most frequent first
  EXPECT_EQ(entries[0].times, 2u);
  EXPECT_EQ(entries[0].reason, reason_text(Unrecorded::kSanitizer));
}

TEST_F(UnrecordedListTest, MakesThePlacesFreeAgain) {
  for (uint32_t i = 0; i < kNotices; ++i) post(Unrecorded::kStatic, "/bin/a");
  EXPECT_EQ(collected().at(0).times, kNotices);
  for (uint32_t i = 0; i < kNotices; ++i) EXPECT_EQ(notice(i).state, NoticeState::kFree) << i;
}

TEST_F(UnrecordedListTest, ForgetsWhatWasTakenBack) {
  post(Unrecorded::kStatic, "/bin/a");
  collected();
  post(Unrecorded::kStatic, "/bin/a", -1);
  EXPECT_TRUE(collected().empty());
}

TEST_F(UnrecordedListTest, LeavesNoticesAloneThatAreNotReady) {
  notice(0).reason = Unrecorded::kStatic;
  notice(0).times = 1;
  notice(0).state = NoticeState::kClaimed;
  EXPECT_TRUE(collected().empty());
  EXPECT_EQ(notice(0).state, NoticeState::kClaimed);
}

TEST_F(UnrecordedListTest, DropsWhatNoProcessWouldSay) {
  post(static_cast<Unrecorded>(kLastUnrecorded + 1), "/bin/a");
  post(Unrecorded::kNone, "/bin/a");
  post(Unrecorded::kStatic, "/bin/a", 1'000'000);
  EXPECT_TRUE(collected().empty());
}

TEST_F(UnrecordedListTest, TakesAPathThatDoesNotEnd) {
  post(Unrecorded::kStatic, "/bin/a");
  std::memset(notice(0).path, 'x', kNoticePathBytes);
  EXPECT_EQ(collected().at(0).program, std::string(kNoticePathBytes, 'x'));
}

TEST_F(UnrecordedListTest, HasWordsForEachReason) {
  for (uint32_t reason = 1; reason <= kLastUnrecorded; ++reason) {
    EXPECT_STRNE(reason_text(static_cast<Unrecorded>(reason)), "") << reason;
  }
}

}  // namespace
}  // namespace heaptape::recorder
