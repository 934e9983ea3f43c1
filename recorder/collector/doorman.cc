#include "recorder/collector/doorman.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "recorder/ring/handshake.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {
namespace {

sigset_t doorman_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
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

struct BlockedSignals::Masks {
  sigset_t before;
};

BlockedSignals::BlockedSignals() : masks_(std::make_unique<Masks>()) {
  const sigset_t set = doorman_signals();
  pthread_sigmask(SIG_BLOCK, &set, &masks_->before);
}

BlockedSignals::~BlockedSignals() {
  // What came for us meanwhile was meant for the target, which had its own copy.
  const sigset_t set = doorman_signals();
  const timespec at_once{};
  while (sigtimedwait(&set, nullptr, &at_once) > 0) {
  }
  pthread_sigmask(SIG_SETMASK, &masks_->before, nullptr);
}

void BlockedSignals::restore_in_child() const {
  pthread_sigmask(SIG_SETMASK, &masks_->before, nullptr);
}

Doorman::Doorman(int listener, std::string session_value, std::string token)
    : listener_(listener), session_value_(std::move(session_value)), token_(std::move(token)) {}

schema::Result<std::unique_ptr<Doorman>> Doorman::open() {
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return schema::os_error("cannot make a socket for the session", errno);
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
    return schema::os_error("cannot open the socket of the session", saved);
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
  ProcessIdentity identity = std::move(found->second);
  identities_.erase(found);
  return identity;
}

void Doorman::run() {
  for (;;) {
    pollfd waits[] = {{listener_, POLLIN, 0}, {signals_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
    if (poll(waits, 3, -1) < 0) continue;
    if (waits[2].revents != 0) return;
    if (waits[1].revents != 0) handle_signal();
    if (waits[0].revents != 0) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      admit(connection);
      close(connection);
    }
    on_change_(on_change_argument_);
  }
}

// Strangers, who do not know the token, get no answer.
void Doorman::admit(int connection) {
  const timeval timeout{1, 0};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
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
    identities_[pid] = identify_process(pid);
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
