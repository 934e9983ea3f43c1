#include "tests/support/command.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace heaptape::tests {
namespace {

Ended end_by(const std::string& signal) {
  return run_command({"sh", "-c", "kill -" + signal + " $$; echo lives"});
}

TEST(Command, StartsProgramsThatDieOfASignalThatTheTestIgnores) {
  const auto before = signal(SIGINT, SIG_IGN);
  const Ended ended = end_by("INT");
  signal(SIGINT, before);
  EXPECT_EQ(ended.signal, SIGINT) << ended.describe();
}

TEST(Command, StartsProgramsThatDieOfASignalThatTheTestBlocks) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const Ended ended = end_by("TERM");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(ended.signal, SIGTERM) << ended.describe();
}

}  // namespace
}  // namespace heaptape::tests
