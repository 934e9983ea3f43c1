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
  uint64_t stack_bytes = 0;  // SessionHeader::stack_bytes
};

// Guarantees:
// - Nobody who gets the descriptor can change the size, so it is never cut off under its users.
// - It has room for as many threads as the limits of the caller allow, 1,024 at least.
// - The headers of the first thousand and the first 8 rings have their memory from the start; the
//   others get theirs when they are first written.
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
  int descriptor() const { return descriptor_.get(); }

 private:
  SessionMemory(base::Descriptor descriptor, base::Mapping mapping)
      : descriptor_(std::move(descriptor)),
        mapping_(std::move(mapping)),
        view_(mapping_.data(), mapping_.bytes()) {}
  Status initialise(const SessionOptions& options);

  base::Descriptor descriptor_;
  base::Mapping mapping_;
  SessionView view_;
};

// TSC where it ticks evenly on all processors, else a counter. docs/decisions/0002-order.md.
Clock choose_clock();

}  // namespace heaptape::recorder
