#include "recorder/collector/recorder_signals.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace heaptape::recorder {
namespace {

const int kTaken[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

void (*disposition(int signal))(int) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

void handler(int) {}

// Leaves the test's own signals as they were, whatever happens.
class RecorderSignalsTest : public testing::Test {
 protected:
  RecorderSignalsTest() {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
    sigaction(SIGXFSZ, nullptr, &on_file_size_);
    sigaction(SIGCHLD, nullptr, &on_child_);
  }
  ~RecorderSignalsTest() override {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    sigaction(SIGXFSZ, &on_file_size_, nullptr);
    sigaction(SIGCHLD, &on_child_, nullptr);
  }

 private:
  sigset_t mask_;
  struct sigaction on_file_size_;
  struct sigaction on_child_;
};

TEST_F(RecorderSignalsTest, BlocksWhatIsForwarded) {
  const RecorderSignals signals;
  const sigset_t set = recorder_signals();
  for (const int signal : kTaken) {
    EXPECT_TRUE(is_blocked(signal)) << signal;
    EXPECT_EQ(sigismember(&set, signal), 1) << signal;
  }
  EXPECT_FALSE(is_blocked(SIGSEGV));
}

TEST_F(RecorderSignalsTest, PutsTheMaskBack) {
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &some, nullptr);
  {
    const RecorderSignals signals;
  }
  EXPECT_TRUE(is_blocked(SIGUSR2));
  EXPECT_FALSE(is_blocked(SIGUSR1));
  EXPECT_FALSE(is_blocked(SIGCHLD));
}

TEST_F(RecorderSignalsTest, PutsDispositionsBack) {
  signal(SIGXFSZ, handler);
  signal(SIGCHLD, SIG_IGN);
  {
    const RecorderSignals signals;
    EXPECT_EQ(disposition(SIGXFSZ), SIG_IGN);
    EXPECT_EQ(disposition(SIGCHLD), SIG_DFL);
  }
  EXPECT_EQ(disposition(SIGXFSZ), handler);
  EXPECT_EQ(disposition(SIGCHLD), SIG_IGN);
}

TEST_F(RecorderSignalsTest, ForgetsWhatCameForTheProgram) {
  {
    const RecorderSignals signals;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
  }
  SUCCEED();  // still alive
}

TEST_F(RecorderSignalsTest, RestoresInAChildWhatItsCallerHad) {
  signal(SIGXFSZ, handler);
  const RecorderSignals signals;
  signals.restore_in_child();
  EXPECT_FALSE(is_blocked(SIGTERM));
  EXPECT_EQ(disposition(SIGXFSZ), handler);
}

}  // namespace
}  // namespace heaptape::recorder
