// How somebody outside of a recording steers it (`heaptape ctl`): the messages.
// recorder/collector/control_request.h is the recorder's side, recorder/collector/control_client.h
// the other. Free of the C++ run-time library: a recorded process may have to ask, too
// (recorder/interposer/first_process.cc).
//
// The client connects to the abstract UNIX socket of a recorder (recorder/ring/handshake.h), sends
// a ControlMessage, and gets a ControlReply once the recorder has done what was asked. The
// session's token is not asked for, since a program may write over the environment that it stands
// in, as redis does: the kernel says whose the client is. Pids mean the same to both if the kernel,
// too, calls the client what it calls itself: recorders of other pid namespaces may have a process
// of that number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heaptape::recorder {

inline constexpr size_t kControlNameBytes = 64;
inline constexpr uint64_t kControlMagic = 0x31306c7463747468;  // "httctl01"

enum class ControlVerb : uint32_t {
  kMark = 1,    // puts a mark onto the tape of one process
  kStatus = 2,  // only reads the totals
  kFlush = 3,   // all that was called before the request is in the files, when the reply comes
  kStop = 4,    // ends the recording: when the reply comes, the tapes are complete
  kEnd = 5,     // the same, by the program: it is about to end, and will take the recorder with it
  kStart = 6,   // begins a recording that waits for it, or again: later calls are recorded
};

// Which recording is meant: that of a process, or that whose first tape is now the file with this
// inode.
struct ControlTarget {
  uint32_t pid = 0;  // 0: the file says it
  uint64_t device = 0;
  uint64_t inode = 0;
};

struct ControlMessage {
  uint64_t magic;
  ControlVerb verb;
  uint32_t client_pid;  // as the client sees it, like the target's
  ControlTarget target;
  uint32_t name_bytes;  // of a mark
  uint32_t unused;
  char name[kControlNameBytes];  // not terminated
};
static_assert(sizeof(ControlMessage) == 112);

enum class ControlOutcome : uint32_t {
  kDone = 1,
  kUnknownTarget = 2,
  kFailed = 3,       // files could not be written
  kNothingToDo = 4,  // kStart: it has begun; others: it is stopped
};

enum class RecordingState : uint32_t { kRecording = 0, kAwaitsStart = 1, kStopped = 2 };

// The figures of a recording: of its interval so far, or of the last one.
struct RecordingTotals {
  uint64_t time_ns = 0;  // since it began, or while it waits, since its program did
  RecordingState state = RecordingState::kRecording;
  uint32_t interval = 1;   // from 1
  uint64_t processes = 0;  // that are recorded now
  uint64_t ended_processes = 0;
  uint64_t calls = 0;  // on the tapes; while it waits, about so many that are not
  uint64_t lost = 0;
  uint64_t tape_bytes = 0;     // of the chunks written, and of tapes that are finished
  uint64_t backlog_bytes = 0;  // of calls that are not on a tape yet
};

struct ControlReply {
  uint64_t magic;
  ControlOutcome outcome;
  uint32_t unused;
  // For a mark, the calls before it; for a flush of the last calls, its number; for a start, the
  // number in the names of its tapes, or 0 if they have none.
  uint64_t event;
  uint64_t time_ns;  // of a mark: since the recording of the process began
  RecordingTotals totals;
};
static_assert(sizeof(ControlReply) == 96);

}  // namespace heaptape::recorder
