#include "recorder/collector/thread_names.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

using schema::ThreadIdentity;

constexpr uint64_t kDueNs = 10'000'000;

// The thread of this test, which has a ring and another name than it had then.
class ThreadNamesTest : public testing::Test {
 protected:
  ThreadNamesTest() {
    prctl(PR_GET_NAME, old_name_);
    prctl(PR_SET_NAME, "renamed");
    std::strcpy(ring_.thread_name, "painter");
    ring_.thread_id = id_;
    names_.add(ring_, 0);
  }
  ~ThreadNamesTest() override { prctl(PR_SET_NAME, old_name_); }
  std::vector<ThreadIdentity> named(const char* name) const { return {{id_, name}}; }

  const uint32_t pid_ = static_cast<uint32_t>(getpid());
  const uint32_t id_ = static_cast<uint32_t>(gettid());
  char old_name_[kThreadNameBytes] = {};
  tests::FakeSession session_;
  RingHeader& ring_ = tests::RingPen(session_, 0, 0, id_).header();
  ThreadNames names_;
};

TEST_F(ThreadNamesTest, BeginWithTheNameAtTheClaim) {
  names_.refresh_if_due(pid_, kDueNs - 1);
  EXPECT_EQ(names_.list(), named("painter"));
}

TEST_F(ThreadNamesTest, TakeANameThatWasGivenLater) {
  names_.refresh_if_due(pid_, kDueNs);
  EXPECT_EQ(names_.list(), named("renamed"));
}

TEST_F(ThreadNamesTest, AreLookedForMoreThanOnce) {
  names_.refresh_if_due(pid_, kDueNs);
  prctl(PR_SET_NAME, "again");
  names_.refresh_if_due(pid_, 2 * kDueNs);
  EXPECT_EQ(names_.list(), named("renamed"));
  names_.refresh_if_due(pid_, 11 * kDueNs);
  EXPECT_EQ(names_.list(), named("again"));
}

// Its id may be another thread's by now.
TEST_F(ThreadNamesTest, AreNotTakenFromAThreadThatLostItsRing) {
  ring_.lock.word = tests::kDeadOwner;
  names_.refresh_if_due(pid_, kDueNs);
  EXPECT_EQ(names_.list(), named("painter"));
}

TEST_F(ThreadNamesTest, EndWithinTheirBytes) {
  std::memset(ring_.thread_name, 'x', kThreadNameBytes);
  names_.add(ring_, 0);
  EXPECT_EQ(names_.list().back().name, std::string(kThreadNameBytes - 1, 'x'));
}

}  // namespace
}  // namespace heaptape::recorder
