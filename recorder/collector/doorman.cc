#include "recorder/collector/doorman.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "recorder/collector/recorder_signals.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {
namespace {

// As many as may be silent at one time; one more, and the oldest has to go.
constexpr size_t kMaxVisitors = 64;
constexpr uint64_t kPatienceMs = 1000;

uint64_t monotonic_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

std::string random_hex(size_t digits) {
  std::string text;
  while (text.size() < digits) {
    uint8_t byte = 0;
    if (getrandom(&byte, 1, 0) != 1) continue;
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text.substr(0, digits);
}

}  // namespace

Doorman::Doorman(int listener, std::string session_value, std::string token)
    : listener_(listener), session_value_(std::move(session_value)), token_(std::move(token)) {}

base::Result<std::unique_ptr<Doorman>> Doorman::open() {
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return base::os_error("cannot make a socket for the session", errno);
  const std::string name = std::to_string(getpid()) + "-" + random_hex(8);
  const std::string path = std::string(1, '\0') + kSocketPrefix + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener, 128) != 0) {
    const int saved = errno;
    close(listener);
    return base::os_error("cannot open the socket of the session", saved);
  }
  const std::string token = random_hex(kTokenDigits);
  return std::unique_ptr<Doorman>(new Doorman(listener, name + ":" + token, token));
}

Doorman::~Doorman() {
  stop();
  close(listener_);
}

void Doorman::start(int session_descriptor, int target, void (*on_change)(void*), void* argument) {
  session_descriptor_ = session_descriptor;
  target_ = target;
  on_change_ = on_change;
  on_change_argument_ = argument;
  const sigset_t set = doorman_signals();
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

void Doorman::stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_event_, 1);
  thread_.join();
  close(stop_event_);
  close(signals_);
}

std::optional<ProcessIdentity> Doorman::take_identity(uint32_t pid) {
  const std::lock_guard lock(mutex_);
  const auto found = identities_.find(pid);
  if (found == identities_.end()) return std::nullopt;
  ProcessIdentity identity = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) identities_.erase(found);
  return identity;
}

void Doorman::run() {
  std::vector<pollfd> waits;
  std::vector<int> readable;
  for (;;) {
    waits = {{stop_event_, POLLIN, 0}, {signals_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Visitor& visitor : visitors_) waits.push_back({visitor.connection, POLLIN, 0});
    if (poll(waits.data(), waits.size(), milliseconds_to_deadline()) < 0) continue;
    if (waits[0].revents != 0) break;
    if (waits[1].revents != 0) handle_signal();
    readable.clear();
    for (size_t i = 3; i < waits.size(); ++i) {
      if (waits[i].revents != 0) readable.push_back(waits[i].fd);
    }
    hear(readable);
    if (waits[2].revents != 0) let_in();
    send_away_silent();
    on_change_(on_change_argument_);
  }
  for (const Visitor& visitor : visitors_) close(visitor.connection);
  visitors_.clear();
}

void Doorman::let_in() {
  const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) {
    const timespec pause{0, 10'000'000};  // out of descriptors: do not spin
    nanosleep(&pause, nullptr);
    return;
  }
  visitors_.push_back({connection, monotonic_ms() + kPatienceMs});
}

void Doorman::hear(const std::vector<int>& readable) {
  for (const int connection : readable) {
    admit(connection);
    close(connection);
    std::erase_if(visitors_, [connection](const Visitor& v) { return v.connection == connection; });
  }
}

void Doorman::send_away_silent() {
  const uint64_t now_ms = monotonic_ms();
  while (!visitors_.empty() &&
         (visitors_.size() > kMaxVisitors || visitors_.front().deadline_ms <= now_ms)) {
    close(visitors_.front().connection);
    visitors_.pop_front();
  }
}

int Doorman::milliseconds_to_deadline() const {
  if (visitors_.empty()) return -1;
  const uint64_t now_ms = monotonic_ms();
  const uint64_t deadline_ms = visitors_.front().deadline_ms;
  return deadline_ms <= now_ms ? 0 : static_cast<int>(deadline_ms - now_ms);
}

// Strangers, who do not know the token, get no answer.
void Doorman::admit(int connection) {
  Hello hello{};
  if (recv(connection, &hello, sizeof hello, 0) != sizeof hello || hello.magic != kHelloMagic ||
      hello.layout_version != kLayoutVersion ||
      std::memcmp(hello.token, token_.data(), kTokenDigits) != 0) {
    return;
  }
  ucred peer{};
  socklen_t peer_length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &peer_length) != 0) return;
  const auto pid = static_cast<uint32_t>(peer.pid);
  {
    // Now, while it waits for us: a short-lived process may be gone when the collector gets to it.
    const std::lock_guard lock(mutex_);
    identities_[pid].push_back(identify_process(pid));
  }
  Welcome welcome{kHelloMagic, kLayoutVersion, pid};
  iovec data{&welcome, sizeof welcome};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &session_descriptor_, sizeof(int));
  sendmsg(connection, &message, MSG_NOSIGNAL);
}

void Doorman::handle_signal() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    // A key on the terminal reaches the whole foreground group, the target included; a signal sent
    // to us by somebody is meant for what we run.
    if (info.ssi_code != SI_KERNEL && target_ > 0) kill(target_, signal);
  }
}

}  // namespace heaptape::recorder
