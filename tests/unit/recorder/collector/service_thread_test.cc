#include "recorder/collector/service_thread.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

#include "recorder/collector/recorder_signals.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

class ServiceThreadTest : public testing::Test {
 protected:
  void start(int target) {
    target_ = target;
    services_->start({*server_,
                      {-1, -1, session_.pools()},
                      target_,
                      {.flush = SIGUSR2},
                      [this] { ++changes_; },
                      [this] { ++interrupts_; },
                      [this] { ++flushes_; }});
  }

  tests::FakeSession session_;
  const RecorderSignals signals_;
  std::atomic<int> target_{0};
  std::atomic<int> changes_{0};
  std::atomic<int> interrupts_{0};
  std::atomic<int> flushes_{0};
  std::unique_ptr<HandshakeServer> server_ = std::move(*HandshakeServer::open());
  std::unique_ptr<ServiceThread> services_ = std::move(*ServiceThread::open());
};

TEST_F(ServiceThreadTest, ForwardsSignalsToTheTarget) {
  const int child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signals_.restore_in_child();
    for (;;) pause();
  }
  start(child);
  kill(getpid(), SIGUSR1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGUSR1);
}

TEST_F(ServiceThreadTest, ReportsTheSignalThatAsksForTheCalls) {
  start(SignalForwarder::kNobody);
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(tests::wait_until([this] { return flushes_ > 0; }));
  EXPECT_EQ(flushes_, 1);
  EXPECT_EQ(interrupts_, 0);
}

TEST_F(ServiceThreadTest, ReportsTheEndOfAChild) {
  start(0);
  const int child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  EXPECT_TRUE(tests::wait_until([this] { return changes_ > 0; }));
  waitpid(child, nullptr, 0);
}

TEST_F(ServiceThreadTest, EndsWithoutHavingStarted) {
  services_.reset();
}

}  // namespace
}  // namespace heaptape::recorder
