#include "recorder/collector/signal_forwarder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "recorder/collector/recorder_signals.h"

namespace heaptape::recorder {
namespace {

// The target is a child that blocks what it gets, so that it can be seen there.
class SignalForwarderTest : public testing::Test {
 protected:
  void SetUp() override {
    target_ = fork();
    ASSERT_GE(target_, 0);
    if (target_ != 0) return;
    for (;;) pause();
  }
  void TearDown() override {
    kill(target_, SIGKILL);
    waitpid(target_, nullptr, 0);
  }
  bool target_got(int signal) const {
    std::ifstream status("/proc/" + std::to_string(target_) + "/status");
    std::string word;
    while (status >> word && word != "ShdPnd:") {
    }
    uint64_t pending = 0;
    status >> std::hex >> pending;
    return (pending >> (signal - 1) & 1) != 0;
  }

  const RecorderSignals signals_;
  SignalForwarder forwarder_ = std::move(*SignalForwarder::open());
  int target_ = -1;
};

TEST_F(SignalForwarderTest, ForwardsSignalsThatSomebodySent) {
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGTERM);
  forwarder_.forward_to(target_);
  EXPECT_TRUE(target_got(SIGUSR1));
  EXPECT_TRUE(target_got(SIGTERM));
}

TEST_F(SignalForwarderTest, KeepsTheEndsOfChildrenToItself) {
  kill(getpid(), SIGCHLD);
  forwarder_.forward_to(target_);
  EXPECT_FALSE(target_got(SIGCHLD));
}

TEST_F(SignalForwarderTest, KeepsInterruptsForWhomTheyEndTheRecording) {
  kill(getpid(), SIGINT);
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(forwarder_.forward_to(target_, {.interrupts = true}).end);
  EXPECT_TRUE(target_got(SIGTERM));
  EXPECT_FALSE(target_got(SIGINT));
  kill(getpid(), SIGINT);
  EXPECT_FALSE(forwarder_.forward_to(target_).end);
  EXPECT_TRUE(target_got(SIGINT));
}

TEST_F(SignalForwarderTest, KeepsTheSignalThatAsksForTheCalls) {
  const OurSignals ours{.flush = SIGUSR2};
  for (const int target : {target_, 0, SignalForwarder::kNobody}) {
    kill(getpid(), SIGUSR2);
    const AskedBySignal asked = forwarder_.forward_to(target, ours);
    EXPECT_TRUE(asked.flush);
    EXPECT_FALSE(asked.end);
  }
  EXPECT_FALSE(target_got(SIGUSR2));
  kill(getpid(), SIGUSR2);
  EXPECT_FALSE(forwarder_.forward_to(target_).flush);
  EXPECT_TRUE(target_got(SIGUSR2));
}

TEST_F(SignalForwarderTest, EndsTheRecordingWithoutATarget) {
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGCHLD);
  EXPECT_FALSE(forwarder_.forward_to(0).end);
  kill(getpid(), SIGHUP);
  EXPECT_TRUE(forwarder_.forward_to(0).end);
}

TEST_F(SignalForwarderTest, DropsSignalsWithoutATarget) {
  kill(getpid(), SIGUSR1);
  forwarder_.forward_to(0);
  forwarder_.forward_to(target_);
  EXPECT_FALSE(target_got(SIGUSR1));
}

}  // namespace
}  // namespace heaptape::recorder
