// The memory of a session (recorder/ring/session_layout.h), as the collector makes and owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/mapping.h"
#include "base/result.h"
#include "recorder/collector/pools.h"
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
  MapCalls map_calls = MapCalls::kRecorded;
  bool awaits_start = false;                        // Pause::kBeforeStart
  std::vector<schema::SizeRange> stack_sizes = {};  // Board::stack_sizes, at most kMostStackSizes
};

// What a process that joins maps. They stay the session's.
struct SessionFiles {
  int board;
  int lobby;
  Pools& pools;
};

// Guarantees:
// - Nobody who gets its files can change their size, so they are never cut off under their users.
// - From Linux 5.1 on nobody else can write to the board.
// - Its pools have as many rings as the limits of the caller allow, 256 at least. The first process
//   has memory for its first ring from the start; the others get theirs when they are first
//   written.
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

  // With the common pool.
  const SessionView& view() const { return pools_.session(); }
  Pools& pools() { return pools_; }
  SessionFiles files() { return {board_.descriptor.get(), lobby_.descriptor.get(), pools_}; }

 private:
  struct File {
    base::Descriptor descriptor;
    base::Mapping mapping;
  };

  SessionMemory(File board, File lobby, File pool, uint32_t rings);
  static Result<File> create_shared(const char* name, uint64_t bytes, int seals);
  static Result<File> create_pool(uint32_t rings);
  Status initialise(const SessionOptions& options);

  File board_;
  File lobby_;
  base::Mapping common_;
  Pools pools_;
};

// The lobby's path in /proc/PID/maps.
inline std::string lobby_mapping() {
  return std::string("/memfd:") + kLobbyName;
}

// TSC where it ticks evenly on all processors, else a counter. docs/decisions/0002-order.md.
Clock choose_clock();

}  // namespace heaptape::recorder
