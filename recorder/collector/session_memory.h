// The memory of a session (recorder/ring/session_layout.h), as the collector makes and owns it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/descriptor.h"
#include "base/mapping.h"
#include "base/result.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

struct SessionOptions {
  Follow follow = Follow::kAll;
  OnFull on_full = OnFull::kBlock;
  uint32_t stack_frames = 0;  // to record of each stack, at most kMostStackFrames; 0: no stacks
  Unwinding unwinding = Unwinding::kFramePointers;
  uint64_t stack_bytes = 0;  // Board::stack_bytes
};

// What a process that joins maps. They stay the session's.
struct SessionFiles {
  int board;
  int session;
};

// Guarantees:
// - Nobody who gets its files can change their size, so they are never cut off under their users.
// - From Linux 5.1 on nobody else can write to the board.
// - It has room for as many threads as the limits of the caller allow, 256 at least.
// - The first thousand ring headers and the first ring have their memory from the start; the others
//   get theirs when they are first written.
// - While it lives it holds the collector's lock. If its thread dies, however that happens, the
//   kernel marks the lock, and producers stop.
// - Its destructor tells producers that the session is over. What they have mapped stays theirs.
//
// The thread that creates it must drain the rings, outlive it, and lock no robust mutex meanwhile.
class SessionMemory {
 public:
  static Result<std::unique_ptr<SessionMemory>> create(const SessionOptions& options);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  const SessionView& view() const { return view_; }
  SessionFiles files() const { return {board_.descriptor.get(), parts_.descriptor.get()}; }

 private:
  struct File {
    base::Descriptor descriptor;
    base::Mapping mapping;
  };

  SessionMemory(File board, File parts)
      : board_(std::move(board)),
        parts_(std::move(parts)),
        view_(*static_cast<Board*>(board_.mapping.data()), parts_.mapping.data(),
              parts_.mapping.bytes()) {}
  static Result<File> create_board();
  static Result<File> create_parts(uint32_t rings);
  Status initialise(const SessionOptions& options, uint32_t rings);

  File board_;
  File parts_;  // all but the board
  SessionView view_;
};

// TSC where it ticks evenly on all processors, else a counter. docs/decisions/0002-order.md.
Clock choose_clock();

}  // namespace heaptape::recorder
