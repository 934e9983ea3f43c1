// `heaptape record --live`: in a terminal, as a person sees it who types into a shell, and in a
// pipe.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/descriptor.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/fake_terminal.h"

namespace heaptape::tests {
namespace {

using Rows = std::vector<std::string>;

constexpr int kRows = 24;
constexpr int kColumns = 80;

// An interactive shell in a terminal, and the keys.
class LiveTerminal : public RecordTest {
 protected:
  LiveTerminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    EXPECT_EQ(grantpt(master_.get()), 0);
    EXPECT_EQ(unlockpt(master_.get()), 0);
    const std::string name = ptsname(master_.get());
    resize(kRows, kColumns);
    shell_ = fork();
    if (shell_ != 0) return;
    setsid();
    const int terminal = open(name.c_str(), O_RDWR);
    ioctl(terminal, TIOCSCTTY, 0);
    for (int i = 0; i < 3; ++i) dup2(terminal, i);
    setenv("TERM", "xterm", 1);
    setenv("PS1", "$ ", 1);
    unsetenv("ENV");
    execl("/bin/sh", "sh", "-i", static_cast<char*>(nullptr));
    _exit(99);
  }
  ~LiveTerminal() override {
    type("\x04");
    master_.reset();
    kill(shell_, SIGHUP);
    waitpid(shell_, nullptr, 0);
  }

  void resize(int rows, int columns) {
    const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0,
                       0};
    EXPECT_EQ(ioctl(master_.get(), TIOCSWINSZ, &size), 0);
    terminal_ = FakeTerminal(rows, columns);
  }
  void type(const std::string& keys) {
    EXPECT_EQ(write(master_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void type_recording_of(const std::string& script) {
    const std::string script_path = dir_.file("script");
    std::ofstream(script_path) << script;
    type("'" + heaptape_path() + "' record --live -o '" + tape_path() + "' -- sh '" + script_path +
         "'\n");
  }

  bool wait_for(const std::function<bool()>& condition) {
    return wait_until([&] {
      read_terminal();
      return condition();
    });
  }
  bool wait_for_row(const std::string& begin) {
    return wait_for([&] {
      return std::ranges::any_of(
          terminal_.screen(), [&begin](const std::string& row) { return row.starts_with(begin); });
    });
  }
  bool wait_for_text(const std::string& text) {
    return wait_for([&] { return everything().find(text) != std::string::npos; });
  }
  // The panel is at the bottom.
  bool wait_for_panel(int rows = kRows) {
    return wait_for([this, rows] {
      return terminal_.screen()[static_cast<size_t>(rows) - 1].starts_with("stalls ") &&
             terminal_.screen()[static_cast<size_t>(rows) - 7].starts_with("heaptape  ");
    });
  }
  // All that the terminal has shown, the panel included.
  std::string everything() const {
    std::string text;
    for (const std::string& row : terminal_.scrolled_off()) text += row + "\n";
    for (const std::string& row : terminal_.screen()) text += row + "\n";
    return text;
  }

  void read_terminal() {
    char bytes[4096];
    pollfd wait{master_.get(), POLLIN, 0};
    while (poll(&wait, 1, 0) == 1) {
      const ssize_t got = read(master_.get(), bytes, sizeof bytes);
      if (got <= 0) return;
      terminal_.write(std::string(bytes, static_cast<size_t>(got)));
    }
  }

  base::Descriptor master_;
  FakeTerminal terminal_{kRows, kColumns};
  pid_t shell_ = -1;
};

TEST_F(LiveTerminal, ShowsFiguresBelowTheOutputAndLosesNoneOfIt) {
  type_recording_of(
      "i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo \"<$i>\"; done; read x; echo \"got $x\"");
  ASSERT_TRUE(wait_for_panel()) << everything();
  type("word\n");
  ASSERT_TRUE(wait_for_row("got word")) << everything();
  ASSERT_TRUE(wait_for_text("heaptape: recorded")) << everything();
  EXPECT_FALSE(terminal_.has_scrolling_region());
  const std::string text = everything();
  for (int i = 1; i < 40; ++i) {
    EXPECT_NE(text.find("<" + std::to_string(i) + ">\n<" + std::to_string(i + 1) + ">\n"),
              std::string::npos)
        << i << "\n"
        << text;
  }
  EXPECT_EQ(text.find("\nstalls "), std::string::npos) << text;
  EXPECT_NE(text.find("heaptape: at the end, "), std::string::npos) << text;
}

TEST_F(LiveTerminal, IsGoneAfterCtrlC) {
  type_recording_of("while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_for_panel()) << everything();
  type("\x03");
  ASSERT_TRUE(wait_for_text("heaptape: recorded")) << everything();
  EXPECT_FALSE(terminal_.has_scrolling_region());
}

TEST_F(LiveTerminal, IsGoneWhileTheRecordingIsStopped) {
  type_recording_of("while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_for_panel()) << everything();
  type("\x1a");
  ASSERT_TRUE(wait_for_text("Stopped")) << everything();
  ASSERT_TRUE(wait_for([this] { return !terminal_.has_scrolling_region(); }));
  EXPECT_EQ(everything().find("\nstalls "), std::string::npos) << everything();
  type("fg\n");
  ASSERT_TRUE(wait_for_panel()) << everything();
  type("\x03");
  ASSERT_TRUE(wait_for_text("heaptape: recorded")) << everything();
}

TEST_F(LiveTerminal, ShowsNothingInTheBackground) {
  type_recording_of("while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_for_panel()) << everything();
  type("\x1a");
  ASSERT_TRUE(wait_for_text("Stopped")) << everything();
  type("bg; sleep 2; echo 'after'wards\n");
  ASSERT_TRUE(wait_for_row("afterwards")) << everything();
  EXPECT_FALSE(terminal_.has_scrolling_region());
  EXPECT_EQ(everything().find("\nstalls "), std::string::npos) << everything();
  type("kill %1; wait\n");
  ASSERT_TRUE(wait_for_text("heaptape: at the end")) << everything();
}

TEST_F(LiveTerminal, FollowsTheTerminalsSize) {
  type_recording_of("while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_for_panel()) << everything();
  resize(16, 30);
  ASSERT_TRUE(wait_for_panel(16)) << everything();
  for (const std::string& row : terminal_.screen()) EXPECT_LE(row.size(), 30u);
  type("\x03");
  ASSERT_TRUE(wait_for([this] { return !terminal_.has_scrolling_region(); })) << everything();
}

TEST_F(LiveTerminal, TakesTheSizeThatTheEnvironmentSaysWhereTheTerminalHasNone) {
  constexpr int kRowsOfEnvironment = 16;
  const winsize none{};
  EXPECT_EQ(ioctl(master_.get(), TIOCSWINSZ, &none), 0);
  terminal_ = FakeTerminal(kRowsOfEnvironment, kColumns);
  type("export LINES=16 COLUMNS=30\n");
  type_recording_of("while :; do sleep 0.1; done");
  ASSERT_TRUE(wait_for_panel(kRowsOfEnvironment)) << everything();
  EXPECT_LE(terminal_.screen().back().size(), 30u);
  type("\x03");
  ASSERT_TRUE(wait_for([this] { return !terminal_.has_scrolling_region(); })) << everything();
}

// A program and 15 children: 12 are listed, then where the others are.
TEST_F(LiveTerminal, ListsTheTapesInTheEnd) {
  resize(kRows, 300);
  type("'" + heaptape_path() + "' record -o '" + tape_path() + "' -- '" + target_path("processes") +
       "' many 15\n");
  ASSERT_TRUE(wait_for_text("most memory: ") || wait_for_text(" more; ")) << everything();
  const std::string text = everything();
  EXPECT_NE(text.find("heaptape: recorded 16 processes\n  * "), std::string::npos) << text;
  EXPECT_NE(text.find("\n    and 4 more; `heaptape info " + tape_path() + ".manifest.json` lists "),
            std::string::npos)
      << text;
  size_t listed = 0;
  for (size_t at = 0; (at = text.find(" events ", at)) != std::string::npos; ++at) ++listed;
  EXPECT_EQ(listed, 12u) << text;
}

class LivePipe : public RecordTest {
 protected:
  // The lines of figures.
  static Rows lines(const Ended& ended) {
    std::istringstream text(ended.err);
    Rows rows;
    for (std::string row; std::getline(text, row);) rows.push_back(row);
    return rows;
  }
  // The number in front of `unit` in the line.
  static uint64_t number(std::string line, const std::string& unit) {
    std::erase(line, ',');
    std::smatch match;
    EXPECT_TRUE(std::regex_search(line, match, std::regex("([0-9]+) " + unit))) << line;
    return match.empty() ? 0 : std::stoull(match[1]);
  }
};

TEST_F(LivePipe, GetsALineASecondAndOneAtTheEnd) {
  const Ended ended = record({"sh", "-c", "echo out; sleep 2.5; exit 3"}, {"--live"});
  EXPECT_EQ(ended.status, 3);
  EXPECT_EQ(ended.out, "out\n");
  const Rows rows = lines(ended);
  ASSERT_GE(rows.size(), 3u) << ended.err;
  for (const std::string& row : rows) EXPECT_TRUE(row.starts_with("heaptape: ")) << row;
  EXPECT_TRUE(rows.back().starts_with("heaptape: at the end, ")) << rows.back();
}

TEST_F(LivePipe, HasTheFiguresOfTheTapeAtTheEnd) {
  const Ended ended = record({"ls", "-l", "/usr/bin"}, {"--live"});
  const std::string last = lines(ended).back();
  EXPECT_EQ(number(last, "calls"), read_tape().events.size());
  EXPECT_EQ(number(last, "blocks?"), walk_heap(read_tape().events).live);
}

TEST_F(LivePipe, AddsUpForkedChildren) {
  const Ended ended = record({"sh", "-c", "ls / >&-; ls / | cat; true"}, {"--live"});
  uint64_t calls = 0;
  for (const Tape& tape : read_tapes()) calls += tape.events.size();
  EXPECT_EQ(number(lines(ended).back(), "calls"), calls) << ended.err;
}

TEST_F(LivePipe, MayHaveNoReader) {
  const Ended ended = record({.words = {"sh", "-c", "sleep 1.5; exit 3"},
                              .before_exec =
                                  [] {
                                    int ends[2];
                                    if (pipe(ends) != 0) _exit(99);
                                    close(ends[0]);
                                    dup2(ends[1], STDERR_FILENO);
                                    close(ends[1]);
                                  }},
                             {"--live"});
  EXPECT_EQ(ended.status, 3) << ended.describe();
  EXPECT_TRUE(verifies());
}

TEST_F(LivePipe, MayBeFull) {
  const Ended ended =
      record({.words = {"sh", "-c", "sleep 2.5; exit 3"},
              .before_exec =
                  [] {
                    int ends[2];  // the reading end stays open, in the command itself
                    if (pipe(ends) != 0) _exit(99);
                    fcntl(ends[1], F_SETFL, O_NONBLOCK);
                    const std::string page(4096, '.');
                    while (write(ends[1], page.data(), page.size()) > 0) {
                    }
                    fcntl(ends[1], F_SETFL, 0);
                    dup2(ends[1], STDERR_FILENO);
                  }},
             {"--live"});
  EXPECT_EQ(ended.status, 3) << ended.describe();
  EXPECT_TRUE(verifies());
}

}  // namespace
}  // namespace heaptape::tests
