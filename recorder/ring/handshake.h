// The messages with which a process joins the session. It connects to the collector's abstract UNIX
// socket and sends a Hello. It gets a kHeardMagic at once, and when the collector knows who it is a
// Welcome with descriptors of the session's board and lobby, a pool and, if stacks are walked by
// tables, one of their file; it maps them and closes the descriptors. With another connection and a
// PoolRequest it gets pools for the children that it forks.
// docs/decisions/0003-session-memory.md says why this is not a file in /dev/shm.
//
// Environment: HEAPTAPE_SESSION=NAME:TOKEN, where TOKEN is 32 hexadecimal digits; the socket's name
// is "\0heaptape-" NAME. Free of the C++ run-time library.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "recorder/ring/allocator_facts.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

inline constexpr char kSessionVariable[] = "HEAPTAPE_SESSION";
inline constexpr char kPreloadName[] = "libheaptape-interposer.so";  // in LD_PRELOAD, with its path
inline constexpr char kSocketPrefix[] = "heaptape-";
inline constexpr uint32_t kTokenDigits = 32;
inline constexpr uint32_t kMaxSessionName = 64;
inline constexpr uint64_t kHelloMagic = 0x316f6c6c65687468;  // "hthello1"
// The collector sends this before it looks up who the process is: a process in a container cannot
// see otherwise that the collector runs.
inline constexpr uint64_t kHeardMagic = 0x3164726165687468;  // "htheard1"
// All that a process says to a server that it does not trust
// (recorder/interposer/handshake_client.h): the server is then either not the recorder, or has no
// uid in the process's user namespace.
inline constexpr uint64_t kDistrustMagic = 0x3174737572746e75;  // "untrust1"

// All builds share the first kHelloHeadBytes, so that the collector can tell another build from a
// stranger.
struct Hello {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t pid;  // as the process sees itself
  char token[kTokenDigits];
  AllocatorFacts allocator;  // as its libraries say
};
inline constexpr size_t kHelloHeadBytes = 48;
static_assert(offsetof(Hello, allocator) == kHelloHeadBytes && sizeof(Hello) == 368);

// Comes with the descriptors as SCM_RIGHTS. A wrong Hello gets no answer: the connection is closed.
struct Welcome {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t pid;       // as the collector sees the process
  uint64_t code_map;  // ProcessSlot::code_map
  uint64_t pool;      // its number
  // The Hello's, completed from the library's file.
  AllocatorFacts allocator;
};
static_assert(sizeof(Welcome) == 352);

inline constexpr uint64_t kPoolsMagic = 0x31736c6f6f707468;  // "htpools1"

// Asks for spares.
struct PoolRequest {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t count;  // at most kMostSpares
  char token[kTokenDigits];
};
static_assert(sizeof(PoolRequest) == 48);

// Comes with the pools' descriptors; fewer than were asked for, if there are no more.
struct PoolAnswer {
  uint64_t magic;
  uint32_t numbers[kMostSpares];
};
static_assert(sizeof(PoolAnswer) == 8 + 4 * kMostSpares);

inline constexpr uint32_t kMostDescriptors = kMostSpares;

// Arguments of sendmsg and recvmsg for `bytes` bytes at `data` and some descriptors.
struct DescriptorMessage {
  DescriptorMessage(void* data, size_t bytes) : part{data, bytes} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr header{};
};

}  // namespace heaptape::recorder
