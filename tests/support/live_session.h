// A recording of this process itself: the interposer's producer on real threads, and the real
// collector, in one address space, so that ThreadSanitizer sees both ends of the rings. Nothing is
// interposed; threads call record_allocation() and the like themselves.
#pragma once

#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "recorder/collector/collector.h"
#include "recorder/collector/handshake_server.h"
#include "recorder/collector/session_memory.h"
#include "schema/tape/tape_info.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {

// The result of a recording.
struct Taped {
  std::vector<schema::Event> events;
  std::vector<schema::TimeSample> times;
  schema::TapeSummary summary;

  // The events of one thread.
  std::vector<schema::Event> of_thread(uint32_t thread) const;
};
Taped read_taped(const std::string& path);

// A session that this process has joined. One at a time; only threads that begin and end during its
// life may record.
class LiveSession {
 public:
  explicit LiveSession(const recorder::SessionOptions& options = {},
                       recorder::Clock clock = recorder::choose_clock());
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  recorder::SessionView view() const { return memory_->view(); }
  recorder::Pools& pools() { return memory_->pools(); }
  std::string tape_path() const { return dir_.file("run.tape"); }

  // Collects in this thread until `program`, which runs in another, is over; then finishes the tape
  // and reads it.
  Taped collect(const std::function<void()>& program);
  // Begins when `program` is over, of which all calls must have room in their rings.
  Taped collect_when_over(const std::function<void()>& program,
                          const recorder::RestWatcher& rest_watcher);

 private:
  Taped collect_until_end(int target, const recorder::RestWatcher& rest_watcher);

  TempDir dir_;
  std::unique_ptr<recorder::SessionMemory> memory_;
  std::unique_ptr<recorder::HandshakeServer> handshakes_;
  // The thread that joins owns the process's slot, so it must end before the memory is freed.
  std::thread member_;
  std::latch joined_{1};
  std::latch over_{1};
};

// Runs `body(index)` in `count` concurrent threads and waits for them.
void in_threads(uint32_t count, const std::function<void(uint32_t)>& body);

}  // namespace heaptape::tests
