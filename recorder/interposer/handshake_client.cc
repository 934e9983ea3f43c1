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
#include <initializer_list>

#include "recorder/interposer/code_view.h"
#include "recorder/interposer/environment.h"
#include "recorder/interposer/patience.h"
#include "recorder/interposer/recorder_process.h"
#include "recorder/ring/handshake.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {
namespace {

// Parses the socket's address and the token from NAME:TOKEN. The length of the address, or 0.
socklen_t parse_session(const char* value, sockaddr_un* address, Hello* hello) {
  const char* colon = std::strchr(value, ':');
  if (colon == nullptr || std::strlen(colon + 1) != kTokenDigits) return 0;
  const auto name_length = static_cast<size_t>(colon - value);
  if (name_length == 0 || name_length > kMaxSessionName) return 0;
  std::memcpy(hello->token, colon + 1, kTokenDigits);
  address->sun_family = AF_UNIX;
  char* path = address->sun_path;
  *path++ = 0;
  std::memcpy(path, kSocketPrefix, sizeof kSocketPrefix - 1);
  path += sizeof kSocketPrefix - 1;
  std::memcpy(path, value, name_length);
  path += name_length;
  return static_cast<socklen_t>(path - reinterpret_cast<char*>(address));
}

// The end of the whole handshake, whatever the server does and however many signals arrive.
class Deadline {
 public:
  bool has_passed() const { return kernel_clock_ns() >= end_ns_; }

 private:
  const uint64_t end_ns_ = kernel_clock_ns() + uint64_t{kLongPatienceMs} * 1'000'000;
};

// Retries a call as often as a signal interrupts it.
template <typename Call>
long uninterrupted(const Deadline& deadline, Call call) {
  long result;
  do {
    result = call();
  } while (result == -EINTR && !deadline.has_passed());
  return result;
}

// Whether the server runs as root, or as the user that this process is and can become: the kernel
// says who called listen(2). The socket's name is no secret, and free once its recorder has ended.
bool is_trusted(const ucred& server) {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  raw_syscall(SYS_getresuid, as_long(&real), as_long(&effective), as_long(&saved));
  return server.uid == 0 || (server.uid == real && server.uid == effective && server.uid == saved);
}

// Whether nobody can shrink the file: reading mapped memory beyond its end would kill us.
bool keeps_its_size(int file, uint64_t bytes) {
  const long seals = raw_syscall(SYS_fcntl, file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
         raw_syscall(SYS_lseek, file, 0, SEEK_END) >= static_cast<long>(bytes);
}

uint32_t pid_behind(long socket) {
  return static_cast<uint32_t>(recorder_behind(socket).pid);
}

bool is_heard(long socket, const Deadline& deadline) {
  for (;;) {
    uint64_t magic = 0;
    const long got = uninterrupted(
        deadline, [&] { return raw_syscall(SYS_recvfrom, socket, as_long(&magic), sizeof magic); });
    if (got == sizeof magic) return magic == kHeardMagic;
    if (got != -EAGAIN || deadline.has_passed() || is_stopped(pid_behind(socket))) return false;
  }
}

long wait_for_welcome(long socket, const Deadline& deadline, msghdr* header) {
  long got;
  do {
    got = uninterrupted(deadline, [=] {
      return raw_syscall(SYS_recvmsg, socket, as_long(header), MSG_CMSG_CLOEXEC);
    });
  } while (got == -EAGAIN && !deadline.has_passed());
  return got;
}

// The descriptors of a welcome; -1 if missing.
struct Descriptors {
  int board = -1;
  int session = -1;
  int code = -1;
};

void close(const Descriptors& descriptors) {
  for (const int file : {descriptors.board, descriptors.session, descriptors.code}) {
    if (file >= 0) raw_syscall(SYS_close, file);
  }
}

Descriptors receive_welcome(long socket, const Deadline& deadline, Welcome* welcome) {
  DescriptorMessage message(welcome, sizeof *welcome);
  const long got = wait_for_welcome(socket, deadline, &message.header);
  const cmsghdr* rights = got > 0 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return {};
  Descriptors descriptors;
  const auto* const sent = reinterpret_cast<const char*>(CMSG_DATA(rights));
  size_t at = 0;
  for (int* const file : {&descriptors.board, &descriptors.session, &descriptors.code}) {
    if (rights->cmsg_len >= CMSG_LEN(at + sizeof *file)) {
      std::memcpy(file, sent + at, sizeof *file);
    }
    at += sizeof *file;
  }
  if (got == sizeof *welcome && welcome->magic == kHelloMagic &&
      welcome->layout_version == kLayoutVersion) {
    return descriptors;
  }
  close(descriptors);
  return {};
}

Descriptors shake_hands(long socket, const sockaddr_un& address, socklen_t length,
                        const Hello& hello, Welcome* welcome) {
  const Deadline deadline;
  const timeval timeout{0, kPatienceMs * 1000};
  raw_syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, as_long(&timeout), sizeof timeout);
  raw_syscall(SYS_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, as_long(&timeout), sizeof timeout);
  const long connected = uninterrupted(
      deadline, [&] { return raw_syscall(SYS_connect, socket, as_long(&address), length); });
  if (connected != 0) return {};
  if (!is_trusted(recorder_behind(socket))) {
    raw_syscall(SYS_sendto, socket, as_long(&kDistrustMagic), sizeof kDistrustMagic,
                MSG_NOSIGNAL | MSG_DONTWAIT);
    return {};
  }
  const long sent = uninterrupted(deadline, [&] {
    return raw_syscall(SYS_sendto, socket, as_long(&hello), sizeof hello, MSG_NOSIGNAL);
  });
  if (sent != sizeof hello || !is_heard(socket, deadline)) return {};
  return receive_welcome(socket, deadline, welcome);
}

// Null if it cannot be mapped.
void* map_shared(int file, uint64_t bytes, int protection) {
  if (!keeps_its_size(file, bytes)) return nullptr;
  const long base =
      raw_syscall(SYS_mmap, 0, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base < 0) return nullptr;
  raw_syscall(SYS_madvise, base, bytes, MADV_DONTDUMP);
  return reinterpret_cast<void*>(base);
}

SessionView map_session(const Descriptors& files) {
  void* const board_page = map_shared(files.board, kBoardBytes, PROT_READ);
  if (board_page == nullptr) return {};
  Board& board = *static_cast<Board*>(board_page);
  const bool is_ours = board.magic == kSessionMagic && board.layout_version == kLayoutVersion;
  void* const parts =
      is_ours ? map_shared(files.session, kJoinBytes, PROT_READ | PROT_WRITE) : nullptr;
  if (parts != nullptr) return {board, parts, kJoinBytes};
  raw_syscall(SYS_munmap, as_long(board_page), kBoardBytes);
  return {};
}

}  // namespace

Joined join_session(const AllocatorFacts& allocator) {
  const char* const value = find_variable(environment(), kSessionVariable);
  if (value == nullptr) return {};
  sockaddr_un address{};
  Hello hello{
      kHelloMagic, kLayoutVersion, static_cast<uint32_t>(raw_syscall(SYS_getpid)), {}, allocator};
  const socklen_t length = parse_session(value, &address, &hello);
  if (length == 0) return {};
  const long socket = raw_syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  Welcome welcome{};
  const Descriptors descriptors = shake_hands(socket, address, length, hello, &welcome);
  const uint32_t recorder = pid_behind(socket);
  raw_syscall(SYS_close, socket);
  if (descriptors.session < 0) {
    close(descriptors);
    return {};
  }
  const Joined joined{map_session(descriptors), welcome.pid, welcome.code_map, recorder,
                      welcome.allocator};
  if (descriptors.code >= 0 && keeps_its_size(descriptors.code, 0)) map_code_file(descriptors.code);
  close(descriptors);
  if (joined.session.valid() && joined.session.board().follow != Follow::kAll) leave_environment();
  return joined;
}

}  // namespace heaptape::recorder
