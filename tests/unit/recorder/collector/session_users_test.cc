#include "recorder/collector/session_users.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/descriptor.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/session_layout.h"
#include "tests/support/command.h"

namespace heaptape::recorder {
namespace {

// A file like a session's lobby, which this process has mapped.
class SessionUsersTest : public testing::Test {
 protected:
  SessionUsersTest() : lobby_(memfd_create(kLobbyName, MFD_CLOEXEC)), users_(lobby_.get(), value_) {
    EXPECT_EQ(ftruncate(lobby_.get(), base::kPageBytes), 0);
    mapped_ = mmap(nullptr, base::kPageBytes, PROT_READ, MAP_SHARED, lobby_.get(), 0);
    EXPECT_NE(mapped_, MAP_FAILED);
  }
  ~SessionUsersTest() override { munmap(mapped_, base::kPageBytes); }

  // Of this process alone: tests of this file run side by side, and each sees all processes.
  const std::string value_ =
      std::to_string(getpid()) + "-0123abcd:00112233445566778899aabbccddeeff";
  const base::Descriptor lobby_;
  const SessionUsers users_;
  void* mapped_;
};

TEST_F(SessionUsersTest, AreNoneButThisProcess) {
  EXPECT_FALSE(users_.any());
}

TEST_F(SessionUsersTest, AreForkedChildrenThatHaveItMapped) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_TRUE(users_.any());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(users_.any());
}

TEST_F(SessionUsersTest, AreNotThoseOfAnotherSession) {
  const base::Descriptor other(memfd_create(kLobbyName, MFD_CLOEXEC));
  EXPECT_EQ(ftruncate(other.get(), base::kPageBytes), 0);
  munmap(mapped_, base::kPageBytes);
  mapped_ = mmap(nullptr, base::kPageBytes, PROT_READ, MAP_SHARED, other.get(), 0);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_FALSE(users_.any());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(SessionUsersTest, AreProgramsThatAreToJoin) {
  const tests::CommandLine line{.words = {"sleep", "60"},
                                .environment = {std::string(kSessionVariable) + "=" + value_}};
  {
    const tests::Command program(line);
    EXPECT_TRUE(tests::wait_until([this] { return users_.any(); }));
  }
  EXPECT_FALSE(users_.any());
}

}  // namespace
}  // namespace heaptape::recorder
