#include "recorder/collector/handshake_server.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/output_file.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kMaxSilentClients = 64;
constexpr uint64_t kPatienceNs = 1000 * base::kMillisecondNs;
constexpr int kBacklog = 4096;
constexpr size_t kMaxRequestsWaiting = 1024;

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

// Who connected; nothing if the kernel does not know.
std::optional<ucred> peer_of(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer;
}

// `heaptape ctl`, which the recorded program started for the sake of the recording.
bool is_own_ctl(const ProcessIdentity& identity, uint32_t pid) {
  const std::vector<std::string>& words = identity.command_line;
  return words.size() > 1 && words[1] == "ctl" &&
         base::same_file("/proc/" + std::to_string(pid) + "/exe", "/proc/self/exe");
}

template <typename Message>
bool send_with(std::span<const int> descriptors, int connection, const Message& content) {
  DescriptorMessage message(const_cast<Message*>(&content), sizeof content);
  message.header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* rights = CMSG_FIRSTHDR(&message.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  return sendmsg(connection, &message.header, MSG_NOSIGNAL) == sizeof content;
}

}  // namespace

HandshakeServer::HandshakeServer(base::Descriptor listener, std::string session_value,
                                 std::string token, CodeTables* code)
    : listener_(std::move(listener)),
      session_value_(std::move(session_value)),
      token_(std::move(token)),
      code_(code) {}

base::Result<std::unique_ptr<HandshakeServer>> HandshakeServer::open(CodeTables* code,
                                                                     const std::string& prefix) {
  base::Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!listener) return base::os_error("cannot make a socket for the session", errno);
  const std::string name = std::to_string(getpid()) + "-" + random_hex(8);
  const std::string path = std::string(1, '\0') + prefix + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return base::os_error("cannot open the socket of the session", errno);
  }
  const std::string token = random_hex(kTokenDigits);
  return std::unique_ptr<HandshakeServer>(
      new HandshakeServer(std::move(listener), name + ":" + token, token, code));
}

void HandshakeServer::add_waits(std::vector<pollfd>& waits) const {
  waits.push_back({listener_.get(), POLLIN, 0});
  for (const Client& client : clients_) waits.push_back({client.connection.get(), POLLIN, 0});
}

int HandshakeServer::timeout_ms() const {
  if (clients_.empty()) return -1;
  const uint64_t now_ns = base::monotonic_ns();
  const uint64_t deadline_ns = clients_.front().deadline_ns;
  if (deadline_ns <= now_ns) return 0;
  return static_cast<int>((deadline_ns - now_ns - 1) / base::kMillisecondNs) + 1;
}

void HandshakeServer::serve(std::span<const pollfd> waits, const SessionFiles& files) {
  HEAPTAPE_CHECK(waits.size() == clients_.size() + 1);
  std::deque<Client> silent;
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (waits[i + 1].revents == 0) {
      silent.push_back(std::move(clients_[i]));
    } else {
      hear(std::move(clients_[i]), files);
    }
  }
  clients_ = std::move(silent);
  if (waits[0].revents != 0) accept_client();
  reject_silent_clients();
}

void HandshakeServer::accept_client() {
  base::Descriptor connection(
      accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    const timespec pause{0, 10 * base::kMillisecondNs};  // out of descriptors: do not spin
    nanosleep(&pause, nullptr);
    return;
  }
  const auto peer = peer_of(connection.get());
  const bool is_strange = !peer || peer->uid != geteuid();
  clients_.push_back({std::move(connection), base::monotonic_ns() + kPatienceNs, is_strange});
}

std::deque<HandshakeServer::Client>::iterator HandshakeServer::first_to_reject() {
  const auto strange = std::ranges::find(clients_, true, &Client::is_strange);
  return strange != clients_.end() ? strange : clients_.begin();
}

void HandshakeServer::reject_silent_clients() {
  const uint64_t now_ns = base::monotonic_ns();
  while (clients_.size() > kMaxSilentClients) clients_.erase(first_to_reject());
  while (!clients_.empty() && clients_.front().deadline_ns <= now_ns) clients_.pop_front();
}

// Closes the connection of who says nothing that we know.
void HandshakeServer::hear(Client client, const SessionFiles& files) {
  union {
    Hello hello;
    PoolRequest pools;
    ControlMessage request;
    uint64_t magic;
  } said{};
  const ssize_t bytes = recv(client.connection.get(), &said, sizeof said, MSG_TRUNC);
  const bool is_hello = bytes >= static_cast<ssize_t>(kHelloHeadBytes) && may_join(said.hello);
  if (is_hello && bytes == sizeof said.hello) {
    answer(client.connection.get(), said.hello, files);
  } else if (bytes == sizeof said.pools && said.pools.magic == kPoolsMagic) {
    if (knows_token(said.pools.token)) give_pools(client.connection.get(), said.pools, files.pools);
  } else if (bytes == sizeof said.request) {
    note_request(std::move(client), said.request);
  } else if (bytes == sizeof said.magic && said.magic == kDistrustMagic) {
    const std::lock_guard lock(mutex_);
    ++distrusting_;
  }
}

bool HandshakeServer::may_join(const Hello& hello) {
  if (hello.magic != kHelloMagic || !knows_token(hello.token)) return false;
  if (hello.layout_version == kLayoutVersion) return true;
  const std::lock_guard lock(mutex_);
  ++of_other_builds_;
  return false;
}

bool HandshakeServer::knows_token(const char (&token)[kTokenDigits]) const {
  return std::memcmp(token, token_.data(), kTokenDigits) == 0;
}

void HandshakeServer::give_pools(int connection, const PoolRequest& request, Pools& pools) const {
  if (request.layout_version != kLayoutVersion) return;
  const auto spares = pools.make_spares(request.count);
  if (spares.empty()) return;
  PoolAnswer answer{kPoolsMagic, {}};
  std::vector<int> descriptors;
  for (const auto& spare : spares) {
    answer.numbers[descriptors.size()] = spare->number();
    descriptors.push_back(spare->descriptor());
  }
  if (send_with(descriptors, connection, answer)) return;
  for (const auto& spare : spares) pools.take_back(*spare);
}

void HandshakeServer::name_tape(const std::string& path) {
  const std::lock_guard lock(mutex_);
  tape_paths_.resize(std::min<size_t>(tape_paths_.size(), 1));  // the first one stays
  tape_paths_.push_back(path);
}

// Requires the mutex.
bool HandshakeServer::is_of_these_tapes(const ControlTarget& target) const {
  return target.pid == 0 && std::ranges::any_of(tape_paths_, [&](const std::string& path) {
           struct stat file{};
           // Finished, if its process has ended or executed another program.
           const bool is_there =
               stat((path + ".partial").c_str(), &file) == 0 || stat(path.c_str(), &file) == 0;
           return is_there && file.st_dev == target.device && file.st_ino == target.inode;
         });
}

void HandshakeServer::note_request(Client client, const ControlMessage& message) {
  const auto peer = peer_of(client.connection.get());
  const auto pid = peer ? static_cast<uint32_t>(peer->pid) : 0;
  // A program may have changed its user; it can only end itself.
  const bool may_ask = message.verb == ControlVerb::kEnd
                           ? pid != 0 && pid == message.target.pid
                           : peer && (peer->uid == 0 || peer->uid == geteuid());
  if (!may_ask || message.magic != kControlMagic || message.name_bytes > sizeof message.name) {
    return;
  }
  const std::string_view name(message.name, message.name_bytes);
  if (message.verb == ControlVerb::kMark && !schema::is_mark_name(name)) return;
  const bool shares_pids = pid == message.client_pid;
  const std::lock_guard lock(mutex_);
  const bool is_of_this = is_of_these_tapes(message.target);
  if (requests_.size() >= kMaxRequestsWaiting) return;
  requests_.push_back({std::move(client.connection), message.verb,
                       shares_pids ? message.target.pid : 0, is_of_this, std::string(name)});
}

void HandshakeServer::answer(int connection, const Hello& hello, const SessionFiles& files) {
  const auto peer = peer_of(connection);
  if (!peer) return;
  const auto pid = static_cast<uint32_t>(peer->pid);
  while (send(connection, &kHeardMagic, sizeof kHeardMagic, MSG_NOSIGNAL) < 0 && errno == EINTR) {
  }
  // Now, while it waits for us: a short-lived process may be gone when the collector gets to it.
  ProcessIdentity identity = identify_process(pid, code_);
  if (is_own_ctl(identity, pid)) return;  // it runs unrecorded
  const AllocatorFacts allocator = libraries_.complete(hello.allocator, pid);
  const auto pool = files.pools.make_own(pid);
  const Welcome welcome{kHelloMagic,    kLayoutVersion, pid, identity.code.code_map,
                        pool->number(), allocator};
  std::vector<int> descriptors = {files.board, files.lobby, pool->descriptor()};
  if (code_ != nullptr && code_->descriptor() >= 0) descriptors.push_back(code_->descriptor());
  const std::lock_guard lock(mutex_);
  const IdentityKey key(pool->number(), pid);
  identities_[key].push_back(std::move(identity));
  if (!send_with(descriptors, connection, welcome)) {
    files.pools.take_back(*pool);
    forget_last(key);
    ++given_up_;
  }
}

void HandshakeServer::forget_last(const IdentityKey& key) {
  const auto found = identities_.find(key);
  found->second.pop_back();
  if (found->second.empty()) identities_.erase(found);
}

uint64_t HandshakeServer::given_up() const {
  const std::lock_guard lock(mutex_);
  return given_up_;
}

uint64_t HandshakeServer::of_other_builds() const {
  const std::lock_guard lock(mutex_);
  return of_other_builds_;
}

uint64_t HandshakeServer::distrusting() const {
  const std::lock_guard lock(mutex_);
  return distrusting_;
}

std::vector<ControlRequest> HandshakeServer::take_requests() {
  const std::lock_guard lock(mutex_);
  return std::exchange(requests_, {});
}

std::optional<ProcessIdentity> HandshakeServer::take_identity(uint32_t pool, uint32_t pid) {
  const std::lock_guard lock(mutex_);
  const auto found = identities_.find({pool, pid});
  if (found == identities_.end()) return std::nullopt;
  ProcessIdentity identity = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) identities_.erase(found);
  return identity;
}

}  // namespace heaptape::recorder
