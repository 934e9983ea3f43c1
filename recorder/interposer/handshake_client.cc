#include "recorder/interposer/handshake_client.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "recorder/interposer/code_view.h"
#include "recorder/interposer/environment.h"
#include "recorder/interposer/patience.h"
#include "recorder/interposer/recorder_process.h"
#include "recorder/ring/control_message.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// It may have all its backlog to write.
constexpr uint32_t kPatienceForTapesMs = 30'000;

// Where the recorder is, and the word that it asks for.
struct Rendezvous {
  sockaddr_un address;
  socklen_t length;  // of the address; 0: there is none
  char token[kTokenDigits];
};

// From NAME:TOKEN.
Rendezvous parse_session(const char* value) {
  Rendezvous result = {};
  const char* colon = std::strchr(value, ':');
  if (colon == nullptr || std::strlen(colon + 1) != kTokenDigits) return result;
  const auto name_length = static_cast<size_t>(colon - value);
  if (name_length == 0 || name_length > kMaxSessionName) return result;
  std::memcpy(result.token, colon + 1, kTokenDigits);
  result.address.sun_family = AF_UNIX;
  char* path = result.address.sun_path;
  *path++ = 0;
  std::memcpy(path, kSocketPrefix, sizeof kSocketPrefix - 1);
  path += sizeof kSocketPrefix - 1;
  std::memcpy(path, value, name_length);
  path += name_length;
  result.length = static_cast<socklen_t>(path - reinterpret_cast<char*>(&result.address));
  return result;
}

// Kept, because the program may write over its environment.
constinit Rendezvous rendezvous = {};

// Whether the server runs as root, or as the user that this process is and can become: the kernel
// says who called listen(2). The socket's name is no secret, and free once its recorder has ended.
bool is_trusted(const ucred& server) {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  raw_syscall(SYS_getresuid, as_long(&real), as_long(&effective), as_long(&saved));
  return server.uid == 0 || (server.uid == real && server.uid == effective && server.uid == saved);
}

// 0 of a file that can be shrunk: reading mapped memory beyond its end would kill us.
uint64_t lasting_bytes(int file) {
  const long seals = raw_syscall(SYS_fcntl, file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return 0;
  const long bytes = raw_syscall(SYS_lseek, file, 0, SEEK_END);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// The descriptors that came with a message, in their order. Closes them.
class Descriptors {
 public:
  Descriptors() = default;
  ~Descriptors() {
    for (uint32_t i = 0; i < count_; ++i) raw_syscall(SYS_close, files_[i]);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;

  uint32_t count() const { return count_; }
  int operator[](uint32_t index) const { return files_[index]; }
  // From a message with room for no more than kMostDescriptors.
  void take(const msghdr& message) {
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return;
    count_ = static_cast<uint32_t>((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(files_, CMSG_DATA(rights), count_ * sizeof(int));
  }

 private:
  int files_[kMostDescriptors];
  uint32_t count_ = 0;
};

// To the recorder. The whole of what is said and heard has an end, whatever the server does and
// however many signals arrive.
class Connection {
 public:
  explicit Connection(uint32_t patience_ms = kLongPatienceMs)
      : socket_(raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
        end_ns_(kernel_clock_ns() + uint64_t{patience_ms} * 1'000'000) {}
  ~Connection() {
    if (socket_ >= 0) raw_syscall(SYS_close, socket_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  uint32_t server() const { return static_cast<uint32_t>(recorder_behind(socket_).pid); }

  // Whether there is a server, and it is one that is trusted.
  bool open() {
    if (socket_ < 0 || rendezvous.length == 0) return false;
    const timeval timeout{0, kPatienceMs * 1000};
    raw_syscall(SYS_setsockopt, socket_, SOL_SOCKET, SO_RCVTIMEO, as_long(&timeout),
                sizeof timeout);
    raw_syscall(SYS_setsockopt, socket_, SOL_SOCKET, SO_SNDTIMEO, as_long(&timeout),
                sizeof timeout);
    const long connected = uninterrupted([this] {
      return raw_syscall(SYS_connect, socket_, as_long(&rendezvous.address), rendezvous.length);
    });
    if (connected != 0) return false;
    if (is_trusted(recorder_behind(socket_))) return true;
    rendezvous.length = 0;  // for good
    return false;
  }

  template <typename Message>
  bool say(const Message& message) {
    const long sent = uninterrupted([&] {
      return raw_syscall(SYS_sendto, socket_, as_long(&message), sizeof message, MSG_NOSIGNAL);
    });
    return sent == sizeof message;
  }

  // Whether a whole message came. Waits for a server that is not stopped, or has been heard before.
  template <typename Message>
  bool hear(Message& message, Descriptors& files) {
    for (;;) {
      DescriptorMessage space(&message, sizeof message);
      const long got = uninterrupted([&] {
        return raw_syscall(SYS_recvmsg, socket_, as_long(&space.header), MSG_CMSG_CLOEXEC);
      });
      if (got > 0) files.take(space.header);
      if (got == sizeof message) return is_heard_ = true;
      if (got != -EAGAIN || has_ended() || (!is_heard_ && is_stopped(server()))) return false;
    }
  }

 private:
  bool has_ended() const { return kernel_clock_ns() >= end_ns_; }

  // Retries a call as often as a signal interrupts it.
  template <typename Call>
  long uninterrupted(Call call) const {
    long result;
    do {
      result = call();
    } while (result == -EINTR && !has_ended());
    return result;
  }

  const long socket_;
  const uint64_t end_ns_;
  bool is_heard_ = false;
};

// Null if it cannot be mapped.
void* map_shared(int file, uint64_t bytes, int protection) {
  if (lasting_bytes(file) < bytes) return nullptr;
  const long base =
      raw_syscall(SYS_mmap, 0, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base < 0) return nullptr;
  raw_syscall(SYS_madvise, base, bytes, MADV_DONTDUMP);
  return reinterpret_cast<void*>(base);
}

// How many rings are in the file of a pool; 0 if it is none.
uint32_t rings_of(int pool) {
  const uint64_t bytes = lasting_bytes(pool);
  if (bytes < kMoreWordsOffset) return 0;
  const uint64_t rings = kFirstRings + (bytes - kMoreWordsOffset) / kRingBytes;
  return rings < kRings ? static_cast<uint32_t>(rings) : kRings;
}

SessionView map_session(int board_file, int lobby_file, int pool_file, uint32_t pool) {
  void* const page = map_shared(board_file, kBoardBytes, PROT_READ);
  if (page == nullptr) return {};
  Board& board = *static_cast<Board*>(page);
  const uint32_t rings = rings_of(pool_file);
  if (board.magic == kSessionMagic && board.layout_version == kLayoutVersion && rings != 0) {
    void* const lobby = map_shared(lobby_file, kLobbyBytes, PROT_READ | PROT_WRITE);
    void* const base = map_shared(pool_file, kJoinBytes, PROT_READ | PROT_WRITE);
    if (lobby != nullptr && base != nullptr) {
      return {board, lobby, {static_cast<char*>(base), pool, rings}};
    }
    if (lobby != nullptr) raw_syscall(SYS_munmap, as_long(lobby), kLobbyBytes);
    if (base != nullptr) raw_syscall(SYS_munmap, as_long(base), kJoinBytes);
  }
  raw_syscall(SYS_munmap, as_long(page), kBoardBytes);
  return {};
}

}  // namespace

Joined join_session(const AllocatorFacts& allocator) {
  const char* const value = find_variable(environment(), kSessionVariable);
  if (value == nullptr) return {};
  rendezvous = parse_session(value);
  if (rendezvous.length == 0) return {};
  Hello hello{
      kHelloMagic, kLayoutVersion, static_cast<uint32_t>(raw_syscall(SYS_getpid)), {}, allocator};
  std::memcpy(hello.token, rendezvous.token, kTokenDigits);
  Connection connection;
  uint64_t heard = 0;
  Welcome welcome{};
  Descriptors files;
  if (!connection.open()) {
    if (rendezvous.length == 0) connection.say(kDistrustMagic);
    return {};
  }
  const bool is_welcome = connection.say(hello) && connection.hear(heard, files) &&
                          heard == kHeardMagic && connection.hear(welcome, files) &&
                          welcome.magic == kHelloMagic &&
                          welcome.layout_version == kLayoutVersion && files.count() >= 3;
  if (!is_welcome) return {};
  const Joined joined{map_session(files[0], files[1], files[2], welcome.pool), welcome.pid,
                      welcome.code_map, connection.server(), welcome.allocator};
  if (files.count() > 3 && lasting_bytes(files[3]) > 0) map_code_file(files[3]);
  if (joined.session.valid() && joined.session.board().follow != Follow::kAll) leave_environment();
  return joined;
}

uint32_t fetch_spare_pools(PoolView* pools, uint32_t count) {
  PoolRequest request{kPoolsMagic, kLayoutVersion, count, {}};
  std::memcpy(request.token, rendezvous.token, kTokenDigits);
  Connection connection;
  PoolAnswer answer{};
  Descriptors files;
  const bool is_answer = connection.open() && connection.say(request) &&
                         connection.hear(answer, files) && answer.magic == kPoolsMagic;
  if (!is_answer) return 0;
  uint32_t got = 0;
  for (uint32_t i = 0; i < files.count() && i < count; ++i) {
    const uint32_t rings = rings_of(files[i]);
    if (rings == 0) continue;
    void* const page = map_shared(files[i], kPageBytes, PROT_READ | PROT_WRITE);
    if (page == nullptr) continue;
    raw_syscall(SYS_madvise, as_long(page), kPageBytes, MADV_DONTFORK);
    pools[got++] = {static_cast<char*>(page), answer.numbers[i], rings};
  }
  return got;
}

void finish_recording() {
  constexpr uint32_t kPid = 1;
  const ControlMessage message{.magic = kControlMagic,
                               .verb = ControlVerb::kEnd,
                               .client_pid = kPid,
                               .target = {.pid = kPid},
                               .name_bytes = 0,
                               .unused = 0,
                               .name = {}};
  Connection connection(kPatienceForTapesMs);
  ControlReply reply{};
  Descriptors none;
  if (connection.open() && connection.say(message)) connection.hear(reply, none);
}

}  // namespace heaptape::recorder
