// What a program sees of a terminal that goes away.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "tests/e2e/record_fixture.h"

namespace heaptape::tests {
namespace {

// Returns in a child, as a test's command may not lead a session: it leads a process group. The
// command ends as the child does.
void wait_for_child() {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  _exit(WEXITSTATUS(status));
}

// The recorder leads the session of a terminal, as after `xterm -e heaptape record ...`.
class HangUps : public RecordTest {
 protected:
  HangUps() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(grantpt(master_.get()), 0);
    EXPECT_EQ(unlockpt(master_.get()), 0);
    terminal_ = ptsname(master_.get());
  }

  // The command's end, the terminal being gone since it said "begun".
  Ended hang_up_on(const Words& words) {
    Command command({.words = words, .before_exec = [this] {
                       close(master_.get());
                       wait_for_child();
                       setsid();
                       const int terminal = open(terminal_.c_str(), O_RDWR);
                       if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) _exit(99);
                     }});
    EXPECT_TRUE(command.wait_for_output("begun"));
    master_.reset();
    return command.wait();
  }

 private:
  base::Descriptor master_;
  std::string terminal_;
};

TEST_F(HangUps, EndTheProgram) {
  const Ended ended = hang_up_on(record_words({"sh", "-c", "echo begun; while :; do :; done"}));
  EXPECT_EQ(ended.signal, SIGHUP) << ended.describe();
  EXPECT_EQ(read_tape().summary.end_reason, schema::EndReason::kSignalled);
  EXPECT_EQ(read_tape().summary.end_status, SIGHUP);
}

TEST_F(HangUps, ReachTheProgramOnce) {
  const std::string script =
      "trap 'echo hup' HUP; echo begun; i=0\n"
      "while [ $i -lt 10 ]; do sleep 0.05; i=$((i+1)); done; exit 3";
  const Ended ended = hang_up_on(record_words({"sh", "-c", script}));
  EXPECT_EQ(ended.status, 3) << ended.describe();
  EXPECT_EQ(ended.out, "begun\nhup\n");
}

}  // namespace
}  // namespace heaptape::tests
