// How a process that was just loaded joins the session: it connects to the collector's abstract
// UNIX socket, says hello, and gets the session's memory as a descriptor, which it maps and closes.
// A socket rather than a path in a file system: it needs no permission on a path, so a program that
// dropped its privileges or changed its root still gets in, nothing is left behind by a kill, and
// the memory is not bound by the size of /dev/shm. docs/decisions/0003-session-memory.md.
//
// Environment: HEAPTAPE_SESSION=NAME:TOKEN, TOKEN being 32 hexadecimal digits; the socket's name is
// "\0heaptape-" NAME. Free of the C++ run-time library.
#pragma once

#include <cstdint>

namespace heaptape::recorder {

inline constexpr char kSessionVariable[] = "HEAPTAPE_SESSION";
inline constexpr char kSocketPrefix[] = "heaptape-";
inline constexpr uint32_t kTokenDigits = 32;
inline constexpr uint32_t kMaxSessionName = 64;
inline constexpr uint64_t kHelloMagic = 0x316f6c6c65687468;  // "hthello1"
inline constexpr int kHandshakeTimeoutSeconds = 5;

struct Hello {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t pid;  // as the process sees itself
  char token[kTokenDigits];
};
static_assert(sizeof(Hello) == 48);

// Comes with the descriptor as SCM_RIGHTS; without one the session takes no more processes.
struct Welcome {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t pid;  // as the collector sees the process
};
static_assert(sizeof(Welcome) == 16);

}  // namespace heaptape::recorder
