// The collector's side of session_layout.h: makes the memory, and holds the lock that tells the
// recorded processes that it lives.
#pragma once

#include <cstdint>
#include <memory>

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
};

// Anonymous shared memory (memfd), sealed against being resized by whoever has it. The thread that
// creates it must be the one that drains, and must outlive it: the kernel marks the lock when that
// thread dies. Ending the object tells every producer that the session is over.
class SessionMemory {
 public:
  static Result<std::unique_ptr<SessionMemory>> create(const SessionOptions& options);
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  const SessionView& view() const { return view_; }
  int descriptor() const { return descriptor_; }

 private:
  SessionMemory(int descriptor, void* base)
      : descriptor_(descriptor), base_(base), view_(base, kSessionBytes) {}
  Status initialise(const SessionOptions& options);

  int descriptor_;
  void* base_;
  SessionView view_;
};

// TSC where it ticks evenly on all processors, else a counter. docs/decisions/0002-order.md.
Clock choose_clock();

}  // namespace heaptape::recorder
