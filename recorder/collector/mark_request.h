// How somebody outside of a recording puts a mark onto a tape (`heaptape ctl PID mark NAME`): the
// messages, and the recorder's side of them. recorder/collector/mark_client.h is the other.
//
// The client connects to the abstract UNIX socket of a recorder (recorder/ring/handshake.h), sends
// a MarkMessage, and gets a MarkReply once the mark is on the tape. The session's token is not
// asked for, since a program may write over the environment that it stands in, as redis does: the
// kernel says whose the client is. Pids mean the same to both if the kernel, too, calls the client
// what it calls itself: recorders of other pid namespaces may have a process of that number.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {

inline constexpr uint64_t kMarkMagic = 0x31306b72616d7468;  // "htmark01"

struct MarkMessage {
  uint64_t magic;
  uint32_t pid;         // of the recorded process
  uint32_t client_pid;  // both as the client sees them
  uint32_t name_bytes;
  uint32_t unused;
  char name[schema::kMaxMarkBytes];  // not terminated
};
static_assert(sizeof(MarkMessage) == 88);

enum class MarkOutcome : uint32_t { kPlaced = 1, kUnknownProcess = 2 };

struct MarkReply {
  uint64_t magic;
  uint64_t event;    // calls before the mark
  uint64_t time_ns;  // since the recording of the process began
  MarkOutcome outcome;
  uint32_t unused;
};
static_assert(sizeof(MarkReply) == 32);

// What a recorder was asked for. The reply goes to the connection, whose end is an answer, too.
struct MarkRequest {
  base::Descriptor connection;
  uint32_t pid;  // 0: of another pid namespace
  std::string name;
  uint64_t cut = 0;     // stamp_now() of the first round since; 0: there was none
  uint64_t now_ns = 0;  // of that round
};

}  // namespace heaptape::recorder
