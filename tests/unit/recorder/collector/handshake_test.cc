// Both ends of the handshake: the collector's server, and the interposer's client.
#include "recorder/ring/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <list>
#include <thread>

#include "recorder/collector/service_thread.h"
#include "recorder/collector/session_memory.h"
#include "recorder/interposer/handshake_client.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

constexpr uid_t kStranger = 65534;

// The address of a server.
struct Address {
  explicit Address(const std::string& session_value) {
    const std::string name = session_value.substr(0, session_value.find(':'));
    const std::string path = std::string(1, '\0') + kSocketPrefix + name;
    unix_address.sun_family = AF_UNIX;
    std::memcpy(unix_address.sun_path, path.data(), path.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&unix_address); }

  sockaddr_un unix_address{};
  socklen_t length;
};

base::Descriptor new_socket() {
  return base::Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}

// A process that connects, in good faith or not.
class Client {
 public:
  explicit Client(const std::string& session_value) : socket_(new_socket()) {
    const Address address(session_value);
    EXPECT_EQ(connect(socket_.get(), address.get(), address.length), 0);
  }

  void say(const void* bytes, size_t count) { send(socket_.get(), bytes, count, MSG_NOSIGNAL); }
  void say(const Hello& hello) { say(&hello, sizeof hello); }

  // Waits for an answer. True: accepted, with a descriptor. False: rejected.
  bool is_accepted() {
    uint64_t magic = 0;
    if (recv(socket_.get(), &magic, sizeof magic, 0) != sizeof magic) return false;
    if (magic != kHeardMagic) return false;
    iovec data{&welcome_, sizeof welcome_};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) != sizeof welcome_) return false;
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return false;
    int received;
    std::memcpy(&received, CMSG_DATA(rights), sizeof(int));
    descriptor_.reset(received);
    return true;
  }
  bool is_disconnected() const {
    char byte;
    return recv(socket_.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }
  int descriptor() const { return descriptor_.get(); }
  const Welcome& welcome() const { return welcome_; }

 private:
  base::Descriptor socket_;
  base::Descriptor descriptor_;
  Welcome welcome_{};
};

const std::atomic<int> nobody = 0;  // gets signals

class HandshakeServerTest : public testing::Test {
 protected:
  void SetUp() override {
    server_ = std::move(*HandshakeServer::open());
    services_ = std::move(*ServiceThread::open());
    tests::write_bytes(dir_.file("session"), "");
    descriptor_.reset(open(dir_.file("session").c_str(), O_RDWR | O_CLOEXEC));
  }
  void serve(const SessionFiles& files) {
    services_->start({*server_, files, nobody, {}, [this] { ++changes_; }, [] {}, [] {}});
  }
  SessionFiles files() { return {descriptor_.get(), descriptor_.get(), session_.pools()}; }
  void serve() { serve(files()); }
  // In this thread.
  void serve_once() {
    std::vector<pollfd> waits;
    server_->add_waits(waits);
    poll(waits.data(), waits.size(), server_->timeout_ms());
    server_->serve(waits, files());
  }
  Hello hello() const {
    Hello hello{kHelloMagic, kLayoutVersion, static_cast<uint32_t>(getpid()), {}, {}};
    const std::string& value = server_->session_value();
    std::memcpy(hello.token, value.data() + value.find(':') + 1, kTokenDigits);
    return hello;
  }
  bool accepts(const Hello& words) {
    Client client(server_->session_value());
    client.say(words);
    return client.is_accepted();
  }
  // In any pool.
  std::optional<ProcessIdentity> take_own_identity() {
    for (uint32_t pool = 0; pool < 4; ++pool) {
      auto identity = server_->take_identity(pool, static_cast<uint32_t>(getpid()));
      if (identity) return identity;
    }
    return std::nullopt;
  }

  tests::TempDir dir_;
  base::Descriptor descriptor_;
  tests::FakeSession session_;
  std::atomic<int> changes_{0};
  std::unique_ptr<HandshakeServer> server_;
  std::unique_ptr<ServiceThread> services_;
};

// As after a recorder that was stopped.
TEST_F(HandshakeServerTest, CountsInTheEndWhoWaitedForItInVain) {
  for (int i = 0; i < 3; ++i) Client(server_->session_value()).say(hello());
  serve();
  services_->finish();
  EXPECT_EQ(server_->given_up(), 3u);
}

TEST_F(HandshakeServerTest, CountsLibrariesOfOtherBuilds) {
  serve();
  Hello other = hello();
  other.layout_version = kLayoutVersion + 1;
  EXPECT_FALSE(accepts(other));
  EXPECT_EQ(server_->of_other_builds(), 1u);
  other.token[0] ^= 1;
  EXPECT_FALSE(accepts(other));
  EXPECT_EQ(server_->of_other_builds(), 1u) << "of one without the token";
}

// Layouts before the seventh had no more than that.
TEST_F(HandshakeServerTest, CountsLibrariesOfOtherBuildsWhoseHelloIsShorter) {
  serve();
  Hello older = hello();
  --older.layout_version;
  Client client(server_->session_value());
  client.say(&older, kHelloHeadBytes);
  EXPECT_FALSE(client.is_accepted());
  EXPECT_EQ(server_->of_other_builds(), 1u);
}

TEST_F(HandshakeServerTest, NamesASocketAndAToken) {
  const std::string& value = server_->session_value();
  const size_t colon = value.find(':');
  ASSERT_NE(colon, std::string::npos);
  EXPECT_LE(colon, kMaxSessionName);
  EXPECT_EQ(value.size() - colon - 1, kTokenDigits);
  EXPECT_NE((*HandshakeServer::open())->session_value(), value);
}

TEST_F(HandshakeServerTest, HandsTheSessionToAProcessThatKnowsTheToken) {
  serve();
  Client client(server_->session_value());
  client.say(hello());
  ASSERT_TRUE(client.is_accepted());
  struct stat ours{};
  struct stat theirs{};
  ASSERT_EQ(fstat(descriptor_.get(), &ours), 0);
  ASSERT_EQ(fstat(client.descriptor(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
  EXPECT_EQ(client.welcome().magic, kHelloMagic);
  EXPECT_EQ(client.welcome().layout_version, kLayoutVersion);
  EXPECT_EQ(client.welcome().pid, static_cast<uint32_t>(getpid()));
}

TEST_F(HandshakeServerTest, AcceptsAClientThatConnectedBeforeItServed) {
  Client client(server_->session_value());
  client.say(hello());
  serve();
  EXPECT_TRUE(client.is_accepted());
}

TEST_F(HandshakeServerTest, RejectsWrongTokens) {
  serve();
  for (uint32_t digit = 0; digit < kTokenDigits; ++digit) {
    Hello wrong = hello();
    wrong.token[digit] ^= 1;
    EXPECT_FALSE(accepts(wrong)) << digit;
  }
  EXPECT_FALSE(take_own_identity());
  EXPECT_TRUE(accepts(hello()));
}

TEST_F(HandshakeServerTest, RejectsOtherVersions) {
  serve();
  Hello newer = hello();
  ++newer.layout_version;
  EXPECT_FALSE(accepts(newer));
  Hello foreign = hello();
  ++foreign.magic;
  EXPECT_FALSE(accepts(foreign));
}

TEST_F(HandshakeServerTest, RejectsAHelloThatIsTooShort) {
  serve();
  const Hello words = hello();
  for (const size_t length : {size_t{1}, sizeof words - 1}) {
    Client client(server_->session_value());
    client.say(&words, length);
    EXPECT_FALSE(client.is_accepted()) << length;
  }
  {
    const Client gone(server_->session_value());
  }
  EXPECT_TRUE(accepts(words));
}

TEST_F(HandshakeServerTest, DoesNotWaitForASilentClientAndRejectsItInTheEnd) {
  serve();
  Client silent(server_->session_value());
  EXPECT_TRUE(accepts(hello()));
  EXPECT_FALSE(silent.is_accepted());  // returns when the server's patience is over
}

TEST_F(HandshakeServerTest, RejectsTheOldestAtOnceWhenManyAreSilent) {
  std::list<Client> silent;
  for (int i = 0; i < 65; ++i) {
    silent.emplace_back(server_->session_value());
    serve_once();
  }
  EXPECT_TRUE(silent.front().is_disconnected());
}

TEST_F(HandshakeServerTest, RejectsOtherUsersFirstWhenManyAreSilent) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a second user";
  Client own(server_->session_value());
  serve_once();
  std::list<Client> strangers;
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(seteuid(kStranger), 0);  // SO_PEERCRED names the effective user
    strangers.emplace_back(server_->session_value());
    ASSERT_EQ(seteuid(0), 0);
    serve_once();
  }
  EXPECT_FALSE(own.is_disconnected());
  EXPECT_TRUE(strangers.front().is_disconnected());
}

TEST_F(HandshakeServerTest, CountsProcessesThatDoNotTrustIt) {
  serve();
  Client client(server_->session_value());
  client.say(&kDistrustMagic, sizeof kDistrustMagic);
  EXPECT_FALSE(client.is_accepted());
  EXPECT_EQ(server_->distrusting(), 1u);
}

TEST_F(HandshakeServerTest, AcceptsManyAtOnce) {
  serve();
  std::list<Client> clients;
  for (int i = 0; i < 50; ++i) clients.emplace_back(server_->session_value()).say(hello());
  for (Client& client : clients) EXPECT_TRUE(client.is_accepted());
}

TEST_F(HandshakeServerTest, RemembersWhoWasAccepted) {
  serve();
  EXPECT_FALSE(take_own_identity());
  ASSERT_TRUE(accepts(hello()));
  ASSERT_TRUE(accepts(hello()));
  for (const uint32_t pool : {2u, 1u}) {
    const auto identity = server_->take_identity(pool, static_cast<uint32_t>(getpid()));
    ASSERT_TRUE(identity);
    EXPECT_EQ(identity->pid, static_cast<uint32_t>(getpid()));
    EXPECT_FALSE(identity->executable.empty());
  }
  EXPECT_FALSE(take_own_identity());
}

TEST_F(HandshakeServerTest, ReportsThatAProcessWasAccepted) {
  serve();
  ASSERT_TRUE(accepts(hello()));
  EXPECT_TRUE(tests::wait_until([this] { return changes_ > 0; }));
}

TEST_F(HandshakeServerTest, ClosesTheConnectionOfASilentClientWhenItEnds) {
  serve();
  Client silent(server_->session_value());
  services_.reset();
  server_.reset();
  EXPECT_FALSE(silent.is_accepted());
}

TEST_F(HandshakeServerTest, ForgetsWhoGaveUpBeforeTheAnswer) {
  {
    Client client(server_->session_value());
    client.say(hello());
  }
  serve_once();
  serve_once();
  EXPECT_EQ(server_->given_up(), 1u);
  EXPECT_FALSE(take_own_identity());
}

// The interposer's end.
class JoiningTest : public HandshakeServerTest {
 protected:
  ~JoiningTest() override { unsetenv(kSessionVariable); }
  // Joins a session that is offered under this value.
  Joined join(const std::string& value) {
    setenv(kSessionVariable, value.c_str(), 1);
    return join_session({});
  }
  void offer(const SessionOptions& options) {
    auto memory = SessionMemory::create(options);
    ASSERT_TRUE(memory.ok());
    memory_ = std::move(*memory);
    serve(memory_->files());
  }
  void TearDown() override { services_.reset(); }
  std::unique_ptr<SessionMemory> memory_;
};

TEST_F(JoiningTest, GetsTheSessionsHeaders) {
  offer({Follow::kAll, OnFull::kDrop});
  const Joined joined = join(server_->session_value());
  ASSERT_TRUE(joined.session.valid());
  EXPECT_FALSE(joined.session.is_whole());
  EXPECT_EQ(joined.pid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(joined.session.board().on_full, OnFull::kDrop);
  EXPECT_NE(getenv(kSessionVariable), nullptr);
}

TEST_F(JoiningTest, IsToldWhatServesItsMalloc) {
  offer({Follow::kAll, OnFull::kDrop});
  setenv(kSessionVariable, server_->session_value().c_str(), 1);
  const AllocatorFacts said = {"/lib/libmimalloc.so.2", "mimalloc", "2.0.9", "glibc 2.36"};
  const AllocatorFacts told = join_session(said).allocator;
  EXPECT_STREQ(told.path, said.path);
  EXPECT_STREQ(told.family, "mimalloc");
  EXPECT_STREQ(told.version, "2.0.9");
  EXPECT_STREQ(told.libc, "glibc 2.36");
}

TEST_F(JoiningTest, KeepsTheSessionFromProgramsThatAreNotFollowed) {
  offer({Follow::kFork, OnFull::kBlock});
  setenv("LD_PRELOAD", "libheaptape-interposer.so:liba.so:libb.so", 1);
  EXPECT_TRUE(join(server_->session_value()).session.valid());
  EXPECT_EQ(getenv(kSessionVariable), nullptr);
  EXPECT_STREQ(getenv("LD_PRELOAD"), "liba.so:libb.so");
  unsetenv("LD_PRELOAD");
}

TEST_F(JoiningTest, GetsAPoolOfItsOwn) {
  offer({});
  const Joined first = join(server_->session_value());
  const Joined second = join(server_->session_value());
  ASSERT_TRUE(first.session.valid() && second.session.valid());
  EXPECT_NE(first.session.pool().number, 0u);
  EXPECT_NE(first.session.pool().number, second.session.pool().number);
  EXPECT_EQ(first.session.rings(), kRings);
  first.session.header().claims = 7;
  EXPECT_EQ(second.session.header().claims, 0u);
  EXPECT_EQ(memory_->view().header().claims, 0u);
}

TEST_F(JoiningTest, GetsPoolsForItsChildren) {
  offer({});
  ASSERT_TRUE(join(server_->session_value()).session.valid());
  PoolView spares[kMostSpares];
  ASSERT_EQ(fetch_spare_pools(spares, 3), 3u);
  const auto header = [&](uint32_t i) -> PoolHeader& {
    return *reinterpret_cast<PoolHeader*>(spares[i].base);
  };
  EXPECT_NE(spares[0].number, spares[1].number);
  EXPECT_EQ(spares[2].rings, kSpareRings);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(header(i).claims, 0u);
    header(i).claims = i + 1;
  }
  EXPECT_EQ(header(0).claims, 1u);
}

TEST_F(JoiningTest, KeepsThePoolsOfItsChildrenToItself) {
  offer({});
  ASSERT_TRUE(join(server_->session_value()).session.valid());
  PoolView spare;
  ASSERT_EQ(fetch_spare_pools(&spare, 1), 1u);
  const pid_t child = fork();
  if (child == 0) {
    unsigned char resident;
    _exit(mincore(spare.base, kPageBytes, &resident) != 0 && errno == ENOMEM ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(JoiningTest, GetsNoPoolsOfASessionThatItHasNotJoined) {
  offer({});
  std::string value = server_->session_value();
  value.back() = value.back() == '0' ? '1' : '0';
  EXPECT_FALSE(join(value).session.valid());
  PoolView spares[kMostSpares];
  EXPECT_EQ(fetch_spare_pools(spares, 1), 0u);
}

TEST_F(JoiningTest, GetsNoPoolsOfARecorderThatIsGone) {
  offer({});
  ASSERT_TRUE(join(server_->session_value()).session.valid());
  services_.reset();
  server_.reset();
  PoolView spares[kMostSpares];
  EXPECT_EQ(fetch_spare_pools(spares, 1), 0u);
}

// A server of its own, in a process of its own, which stops before or after it tells the one client
// that it has heard it.
class StoppingServer {
 public:
  enum class Stops : bool { kBefore, kAfter };
  StoppingServer(const SessionFiles& files, Stops stops) : socket_(new_socket()) {
    const Address address(session_value());
    EXPECT_EQ(bind(socket_.get(), address.get(), address.length), 0);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const base::Descriptor out(ends[0]);
    base::Descriptor in(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      listen(socket_.get(), 1);  // so that the kernel names this process as the server
      in.reset();
      serve(files, stops);
      _exit(0);
    }
    in.reset();
    char byte;
    EXPECT_EQ(read(out.get(), &byte, 1), 0);  // it listens
  }
  ~StoppingServer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  StoppingServer(const StoppingServer&) = delete;
  StoppingServer& operator=(const StoppingServer&) = delete;

  std::string session_value() const { return name_ + ":" + std::string(kTokenDigits, 'a'); }
  // Lets it go on some time after it has stopped.
  void resume_after(std::chrono::milliseconds time) const {
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
    std::this_thread::sleep_for(time);
    kill(pid_, SIGCONT);
  }

 private:
  void serve(const SessionFiles& files, Stops stops) const {
    const base::Descriptor client(accept(socket_.get(), nullptr, nullptr));
    Hello hello{};
    recv(client.get(), &hello, sizeof hello, 0);
    if (stops == Stops::kBefore) raise(SIGSTOP);
    send(client.get(), &kHeardMagic, sizeof kHeardMagic, 0);
    if (stops == Stops::kAfter) raise(SIGSTOP);
    Welcome welcome{kHelloMagic, kLayoutVersion, hello.pid, 0, 0, hello.allocator};
    const int descriptors[] = {files.board, files.lobby, files.pools.common().descriptor()};
    DescriptorMessage message(&welcome, sizeof welcome);
    message.header.msg_controllen = CMSG_SPACE(sizeof descriptors);
    cmsghdr* const rights = CMSG_FIRSTHDR(&message.header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptors);
    std::memcpy(CMSG_DATA(rights), descriptors, sizeof descriptors);
    sendmsg(client.get(), &message.header, 0);
  }

  const std::string name_ = "test-" + std::to_string(getpid());
  base::Descriptor socket_;
  pid_t pid_ = 0;
};

// As a process in a container, which cannot see whether the recorder runs.
TEST_F(JoiningTest, IsPatientWithARecorderThatHasHeardIt) {
  using Stops = StoppingServer::Stops;
  memory_ = std::move(*SessionMemory::create({}));
  for (const Stops stops : {Stops::kBefore, Stops::kAfter}) {
    const StoppingServer server(memory_->files(), stops);
    std::thread resumes([&] { server.resume_after(std::chrono::milliseconds(3 * kPatienceMs)); });
    const Joined joined = join(server.session_value());
    resumes.join();
    EXPECT_EQ(joined.session.valid(), stops == Stops::kAfter);
  }
}

TEST_F(JoiningTest, GivesUpOnARecorderThatStopsOnceItHasHeardIt) {
  memory_ = std::move(*SessionMemory::create({}));
  const StoppingServer server(memory_->files(), StoppingServer::Stops::kAfter);
  EXPECT_FALSE(join(server.session_value()).session.valid());
}

TEST_F(JoiningTest, StaysOutWithoutASession) {
  unsetenv(kSessionVariable);
  EXPECT_FALSE(join_session({}).session.valid());
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
  std::string value = server_->session_value();
  value.back() = value.back() == '0' ? '1' : '0';
  EXPECT_FALSE(join(value).session.valid());
}

TEST_F(JoiningTest, StaysOutOfMemoryThatIsNoSession) {
  offer({});
  services_.reset();
  const base::Descriptor other(memfd_create("board", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(other.get(), kBoardBytes), 0);
  ASSERT_EQ(fcntl(other.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
  services_ = std::move(*ServiceThread::open());
  serve({other.get(), memory_->files().lobby, memory_->pools()});
  EXPECT_FALSE(join(server_->session_value()).session.valid());
}

// Reading there would end in SIGBUS as soon as the server makes the file smaller.
TEST_F(JoiningTest, StaysOutOfMemoryThatCanShrink) {
  offer({});
  services_.reset();
  const int board = memory_->files().board;
  const int lobby = memory_->files().lobby;
  struct Memory {
    int seals;
    uint64_t missing_bytes;
    bool is_joined;
  };
  for (const int original : {board, lobby}) {
    const uint64_t bytes = original == board ? kBoardBytes : kLobbyBytes;
    std::vector<uint8_t> content(bytes);
    ASSERT_EQ(pread(original, content.data(), bytes, 0), static_cast<ssize_t>(bytes));
    for (const Memory& memory : {Memory{F_SEAL_SHRINK, 0, true}, Memory{F_SEAL_SHRINK, 1, false},
                                 Memory{F_SEAL_GROW, 0, false}, Memory{0, 0, false}}) {
      const base::Descriptor file(memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      const uint64_t written = bytes - memory.missing_bytes;
      ASSERT_EQ(write(file.get(), content.data(), written), static_cast<ssize_t>(written));
      ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, memory.seals), 0);
      services_ = std::move(*ServiceThread::open());
      serve({original == board ? file.get() : board, original == board ? lobby : file.get(),
             memory_->pools()});
      EXPECT_EQ(join(server_->session_value()).session.valid(), memory.is_joined)
          << memory.seals << ", " << memory.missing_bytes << " of " << bytes;
      services_.reset();
    }
  }
}

// In AddressSanitizer of clang 14, a forked child may wait for ever for a lock of its allocator:
// that of a thread that was just beginning.
constexpr char kForksBesideThreads[] = "a sanitizer's allocator may not survive a fork";

// The server of a session in a process of its own, of another user.
class StrangersSession {
 public:
  explicit StrangersSession(uid_t user) {
    int value[2];
    int end[2];
    EXPECT_EQ(pipe(value), 0);
    EXPECT_EQ(pipe(end), 0);
    process_ = fork();
    if (process_ == 0) {
      close(end[1]);
      _exit(serve(user, value[1], end[0]));
    }
    close(value[1]);
    close(end[0]);
    end_.reset(end[1]);
    char text[kMaxSessionName + kTokenDigits + 2] = {};
    const ssize_t bytes = read(value[0], text, sizeof text);
    close(value[0]);
    value_.assign(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  const std::string& value() const { return value_; }
  // How many processes told it that they do not trust it. The last call.
  int end() {
    end_.reset();
    int status = -1;
    waitpid(process_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static int serve(uid_t user, int value, int end) {
    if (setresuid(user, user, user) != 0) return 90;
    const auto server = std::move(*HandshakeServer::open());
    const auto services = std::move(*ServiceThread::open());
    const auto memory = std::move(*SessionMemory::create({}));
    services->start({*server, memory->files(), nobody, {}, [] {}, [] {}, [] {}});
    const std::string& text = server->session_value();
    if (write(value, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 91;
    char byte;
    if (read(end, &byte, 1) != 0) return 92;
    services->finish();
    return static_cast<int>(server->distrusting());
  }

  pid_t process_ = -1;
  std::string value_;
  base::Descriptor end_;
};

TEST_F(JoiningTest, StaysOutOfTheSessionOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a second user";
  if (tests::kSanitized) GTEST_SKIP() << kForksBesideThreads;
  StrangersSession session(kStranger);
  EXPECT_FALSE(join(session.value()).session.valid());
  EXPECT_EQ(session.end(), 1);
}

TEST_F(JoiningTest, TrustsRootAndItsOwnUserOnlyWhereItIsNobodyElse) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a second user";
  if (tests::kSanitized) GTEST_SKIP() << kForksBesideThreads;
  struct Case {
    uid_t server;
    uid_t real;
    uid_t effective;
    uid_t saved;
    bool is_joined;
  };
  constexpr uid_t kOther = kStranger - 1;
  for (const Case& users :
       {Case{0, kStranger, kStranger, kStranger, true}, Case{0, 0, kStranger, 0, true},
        Case{kStranger, kStranger, kStranger, kStranger, true},
        Case{kStranger, kOther, kOther, kOther, false}, Case{kStranger, 0, kStranger, 0, false},
        Case{kStranger, kStranger, kStranger, 0, false},
        Case{kStranger, kStranger, kOther, kOther, false}}) {
    StrangersSession session(users.server);
    const pid_t process = fork();
    if (process == 0) {
      if (setresuid(users.real, users.effective, users.saved) != 0) _exit(9);
      _exit(join(session.value()).session.valid() ? 1 : 0);
    }
    int status = -1;
    waitpid(process, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), users.is_joined ? 1 : 0)
        << users.server << " for " << users.real << ", " << users.effective << ", " << users.saved;
    EXPECT_EQ(session.end(), users.is_joined ? 0 : 1);
  }
}

// A server that answers nothing; a signal interrupts each wait for it.
TEST_F(JoiningTest, StaysOutAfterASecondHoweverManySignalsArrive) {
  struct sigaction quiet{};
  struct sigaction before{};
  quiet.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &quiet, &before), 0);
  const itimerval often{{0, 10'000}, {0, 10'000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  EXPECT_FALSE(join(server_->session_value()).session.valid());
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
}

TEST_F(JoiningTest, WaitsForARecorderThatIsLateButLives) {
  std::thread late([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * kPatienceMs));
    offer({});
  });
  EXPECT_TRUE(join(server_->session_value()).session.valid());
  late.join();
}

}  // namespace
}  // namespace heaptape::recorder
