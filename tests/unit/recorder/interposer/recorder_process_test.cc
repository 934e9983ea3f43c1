#include "recorder/interposer/recorder_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace heaptape::recorder {
namespace {

// Sleeps until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    for (;;) pause();
  }
  ~Child() {
    if (pid_ > 0) kill_and_reap();
  }
  uint32_t pid() const { return static_cast<uint32_t>(pid_); }
  void stop() const {
    kill(pid_, SIGSTOP);
    int status = 0;
    waitpid(pid_, &status, WUNTRACED);
  }
  void make_zombie() const {
    kill(pid_, SIGKILL);
    siginfo_t info;
    waitid(P_PID, pid(), &info, WEXITED | WNOWAIT);
  }
  void kill_and_reap() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

TEST(RecorderProcess, IsNotStoppedWhileItRunsOrSleeps) {
  const Child child;
  EXPECT_FALSE(is_stopped(child.pid()));
  EXPECT_FALSE(is_stopped(static_cast<uint32_t>(getpid())));
}

TEST(RecorderProcess, IsStoppedBySignalAndByItsEnd) {
  Child child;
  child.stop();
  EXPECT_TRUE(is_stopped(child.pid()));
  child.make_zombie();
  EXPECT_TRUE(is_stopped(child.pid()));
  const uint32_t pid = child.pid();
  child.kill_and_reap();
  EXPECT_TRUE(is_stopped(pid));
}

TEST(RecorderProcess, CountsAsStoppedWhereItHasNoPid) {
  EXPECT_TRUE(is_stopped(0));
}

TEST(RecorderProcess, IsTheOneBehindTheSocket) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  EXPECT_EQ(recorder_behind(ends[0]).pid, getpid());
  EXPECT_EQ(recorder_behind(ends[0]).uid, geteuid());
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(recorder_behind(-1).pid, 0);
  EXPECT_EQ(recorder_behind(-1).uid, static_cast<uid_t>(-1));
}

}  // namespace
}  // namespace heaptape::recorder
