#include "recorder/collector/doorman.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <list>

#include "recorder/collector/recorder_signals.h"
#include "recorder/collector/session_memory.h"
#include "recorder/interposer/handshake_client.h"
#include "recorder/ring/handshake.h"
#include "tests/support/command.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

// Somebody who knocks.
class Visitor {
 public:
  explicit Visitor(const std::string& session_value)
      : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const std::string name = session_value.substr(0, session_value.find(':'));
    const std::string path = std::string(1, '\0') + kSocketPrefix + name;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~Visitor() {
    close(socket_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;

  void say(const void* bytes, size_t count) { send(socket_, bytes, count, MSG_NOSIGNAL); }
  void say(const Hello& hello) { say(&hello, sizeof hello); }

  // Waits for an answer. True: let in, with a descriptor. False: sent away.
  bool is_let_in() {
    iovec data{&welcome_, sizeof welcome_};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) != sizeof welcome_) return false;
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return false;
    std::memcpy(&descriptor_, CMSG_DATA(rights), sizeof(int));
    return true;
  }
  int descriptor() const { return descriptor_; }
  const Welcome& welcome() const { return welcome_; }

 private:
  int socket_;
  int descriptor_ = -1;
  Welcome welcome_{};
};

class DoormanTest : public testing::Test {
 protected:
  void SetUp() override {
    auto doorman = Doorman::open();
    ASSERT_TRUE(doorman.ok()) << doorman.error().message;
    doorman_ = std::move(*doorman);
    tests::write_bytes(dir_.file("session"), "");
    descriptor_ = open(dir_.file("session").c_str(), O_RDWR | O_CLOEXEC);
  }
  void TearDown() override {
    doorman_.reset();
    close(descriptor_);
  }
  void start(int target = -1) {
    doorman_->start(
        descriptor_, target, [](void* count) { ++*static_cast<std::atomic<int>*>(count); },
        &changes_);
  }
  Hello hello() const {
    Hello hello{kHelloMagic, kLayoutVersion, static_cast<uint32_t>(getpid()), {}};
    const std::string& value = doorman_->session_value();
    std::memcpy(hello.token, value.data() + value.find(':') + 1, kTokenDigits);
    return hello;
  }
  bool lets_in(const Hello& words) {
    Visitor visitor(doorman_->session_value());
    visitor.say(words);
    return visitor.is_let_in();
  }
  std::optional<ProcessIdentity> take_own_identity() {
    return doorman_->take_identity(static_cast<uint32_t>(getpid()));
  }

  const RecorderSignals signals_;
  tests::TempDir dir_;
  int descriptor_ = -1;
  std::atomic<int> changes_{0};
  std::unique_ptr<Doorman> doorman_;
};

TEST_F(DoormanTest, NamesASocketAndAToken) {
  const std::string& value = doorman_->session_value();
  const size_t colon = value.find(':');
  ASSERT_NE(colon, std::string::npos);
  EXPECT_LE(colon, kMaxSessionName);
  EXPECT_EQ(value.size() - colon - 1, kTokenDigits);
  EXPECT_NE((*Doorman::open())->session_value(), value);
}

TEST_F(DoormanTest, HandsTheSessionToWhoKnowsTheToken) {
  start();
  Visitor visitor(doorman_->session_value());
  visitor.say(hello());
  ASSERT_TRUE(visitor.is_let_in());
  struct stat ours {};
  struct stat theirs {};
  ASSERT_EQ(fstat(descriptor_, &ours), 0);
  ASSERT_EQ(fstat(visitor.descriptor(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  EXPECT_EQ(visitor.welcome().magic, kHelloMagic);
  EXPECT_EQ(visitor.welcome().layout_version, kLayoutVersion);
  EXPECT_EQ(visitor.welcome().pid, static_cast<uint32_t>(getpid()));
}

TEST_F(DoormanTest, LetsInWhoCameBeforeItStarted) {
  Visitor visitor(doorman_->session_value());
  visitor.say(hello());
  start();
  EXPECT_TRUE(visitor.is_let_in());
}

TEST_F(DoormanTest, SendsStrangersAway) {
  start();
  for (uint32_t digit = 0; digit < kTokenDigits; ++digit) {
    Hello wrong = hello();
    wrong.token[digit] ^= 1;
    EXPECT_FALSE(lets_in(wrong)) << digit;
  }
  EXPECT_FALSE(take_own_identity());
  EXPECT_TRUE(lets_in(hello()));
}

TEST_F(DoormanTest, SendsOtherVersionsAway) {
  start();
  Hello newer = hello();
  ++newer.layout_version;
  EXPECT_FALSE(lets_in(newer));
  Hello foreign = hello();
  ++foreign.magic;
  EXPECT_FALSE(lets_in(foreign));
}

TEST_F(DoormanTest, SendsAwayWhoSaysLittleOrNothing) {
  start();
  const Hello words = hello();
  for (const size_t length : {size_t{1}, sizeof words - 1}) {
    Visitor visitor(doorman_->session_value());
    visitor.say(&words, length);
    EXPECT_FALSE(visitor.is_let_in()) << length;
  }
  { const Visitor gone(doorman_->session_value()); }
  EXPECT_TRUE(lets_in(words));
}

TEST_F(DoormanTest, DoesNotWaitForTheSilentAndSendsThemAwayInTheEnd) {
  start();
  Visitor silent(doorman_->session_value());
  EXPECT_TRUE(lets_in(hello()));
  EXPECT_FALSE(silent.is_let_in());  // comes back when the doorman's patience is over
}

TEST_F(DoormanTest, SendsTheOldestAwayWhenManyAreSilent) {
  start();
  std::list<Visitor> silent;
  for (int i = 0; i < 100; ++i) silent.emplace_back(doorman_->session_value());
  EXPECT_TRUE(lets_in(hello()));
  EXPECT_FALSE(silent.front().is_let_in());
}

TEST_F(DoormanTest, LetsManyIn) {
  start();
  std::list<Visitor> visitors;
  for (int i = 0; i < 50; ++i) visitors.emplace_back(doorman_->session_value()).say(hello());
  for (Visitor& visitor : visitors) EXPECT_TRUE(visitor.is_let_in());
}

TEST_F(DoormanTest, RemembersWhoCameIn) {
  start();
  EXPECT_FALSE(take_own_identity());
  ASSERT_TRUE(lets_in(hello()));
  ASSERT_TRUE(lets_in(hello()));
  for (int visits = 0; visits < 2; ++visits) {
    const auto identity = take_own_identity();
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->pid, static_cast<uint32_t>(getpid()));
    EXPECT_FALSE(identity->executable.empty());
  }
  EXPECT_FALSE(take_own_identity());
}

TEST_F(DoormanTest, TellsWhenSomebodyCameIn) {
  start();
  ASSERT_TRUE(lets_in(hello()));
  EXPECT_TRUE(tests::wait_until([this] { return changes_ > 0; }));
}

TEST_F(DoormanTest, IsGoneOnceItIsStopped) {
  start();
  Visitor silent(doorman_->session_value());
  doorman_->stop();
  doorman_->stop();
  EXPECT_FALSE(take_own_identity());
}

TEST_F(DoormanTest, ForwardsSignalsSentToTheRecorder) {
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

// The interposer's side of the door.
class JoiningTest : public DoormanTest {
 protected:
  ~JoiningTest() override { unsetenv(kSessionVariable); }
  // Joins a session that is offered under this value.
  Joined join(const std::string& value) {
    setenv(kSessionVariable, value.c_str(), 1);
    return join_session();
  }
  void offer(const SessionOptions& options) {
    auto memory = SessionMemory::create(options);
    ASSERT_TRUE(memory.ok());
    memory_ = std::move(*memory);
    doorman_->start(
        memory_->descriptor(), -1, [](void*) {}, nullptr);
  }
  void TearDown() override {
    doorman_->stop();
    memory_.reset();
    DoormanTest::TearDown();
  }
  std::unique_ptr<SessionMemory> memory_;
};

TEST_F(JoiningTest, GetsTheSessionsHeaders) {
  offer({Follow::kAll, OnFull::kDrop});
  const Joined joined = join(doorman_->session_value());
  ASSERT_TRUE(joined.session.valid());
  EXPECT_FALSE(joined.session.is_whole());
  EXPECT_EQ(joined.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(joined.session.header().on_full, OnFull::kDrop);
  EXPECT_NE(getenv(kSessionVariable), nullptr);
}

TEST_F(JoiningTest, KeepsTheSessionFromProgramsThatAreNotFollowed) {
  offer({Follow::kFork, OnFull::kBlock});
  setenv("LD_PRELOAD", "libheaptape-interposer.so:liba.so:libb.so", 1);
  EXPECT_TRUE(join(doorman_->session_value()).session.valid());
  EXPECT_EQ(getenv(kSessionVariable), nullptr);
  EXPECT_STREQ(getenv("LD_PRELOAD"), "liba.so:libb.so");
  unsetenv("LD_PRELOAD");
}

TEST_F(JoiningTest, StaysOutWithoutASession) {
  unsetenv(kSessionVariable);
  EXPECT_FALSE(join_session().session.valid());
}

TEST_F(JoiningTest, StaysOutOfWhatIsNoSession) {
  const std::string token(kTokenDigits, 'a');
  for (const std::string& value :
       {std::string(), std::string(":"), ":" + token, std::string("name:short"), "nobody:" + token,
        "nobody:" + token + "a", std::string(kMaxSessionName + 1, 'n') + ":" + token}) {
    EXPECT_FALSE(join(value).session.valid()) << value;
  }
}

TEST_F(JoiningTest, StaysOutWhenItsTokenIsWrong) {
  offer({});
  std::string value = doorman_->session_value();
  value.back() = value.back() == '0' ? '1' : '0';
  EXPECT_FALSE(join(value).session.valid());
}

TEST_F(JoiningTest, StaysOutOfMemoryThatIsNoSession) {
  ASSERT_EQ(ftruncate(descriptor_, kSessionHeadersBytes), 0);
  start();
  EXPECT_FALSE(join(doorman_->session_value()).session.valid());
}

}  // namespace
}  // namespace heaptape::recorder
