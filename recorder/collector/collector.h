// The recording itself: one loop that drains the rings, samples, notices the ends of processes, and
// writes a tape for each.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "recorder/collector/inner_allocators.h"
#include "recorder/collector/live_figures.h"
#include "recorder/collector/live_gauge.h"
#include "recorder/collector/process_table.h"
#include "recorder/collector/session_memory.h"
#include "recorder/collector/target.h"
#include "recorder/collector/unrecorded_list.h"

namespace heaptape::recorder {

struct CollectorOptions {
  std::string tape_path;  // of the first process; the others' names are made from it
  std::vector<std::string> command;
  LiveWatcher watcher = {};  // none: nobody watches
};

// The outcome of a recording.
struct Recording {
  TargetEnd target_end;
  schema::Manifest manifest;          // the first process first
  std::vector<std::string> failures;  // one sentence each: what is not on the tapes, and why
  RingMerge::StackCounts stack_counts;
};

// Guarantees:
// - What a program logged before it ended, however it ended, is on its tape or counted as lost.
// - The loop waits for no program: it sleeps only when no ring is half full.
// One thread, which made the session's memory; only wake() is for others.
class Collector {
 public:
  Collector(SessionMemory& memory, HandshakeServer& handshakes, CollectorOptions options)
      : session_(memory.view()),
        handshakes_(handshakes),
        options_(std::move(options)),
        table_(session_, handshakes, options_.tape_path),
        proc_reader_(
            [code = handshakes.code()](uint32_t pid, WithPages with_pages) {
              return read_proc_texts(pid, code, with_pages);
            },
            [this](const ProcReading& reading) {
              inner_.look(reading.asked.pid, *reading.texts, *reading.asked.inner);
            }),
        gauge_(base::monotonic_ns()) {
    if (options_.watcher) table_.count_sizes();
  }

  // Runs until the target has ended, then finishes every tape, also of processes that go on. Once.
  Recording run(int target_pid);

  // Wakes run() if it sleeps: the target may have ended, or a mark may wait. Any thread.
  void wake();

 private:
  uint64_t drain_all(uint64_t cut, uint64_t now_ns);
  void end_watched(const TargetEnd& end);
  void place_marks(uint64_t cut, uint64_t now_ns);
  void end_gone();
  void sweep_if_due(uint64_t now_ns);
  void show_progress();
  void sleep_until_needed();
  bool a_ring_is_half_full() const;
  void finish_all(const TargetEnd& end);

  SessionView session_;
  HandshakeServer& handshakes_;
  CollectorOptions options_;
  ProcessTable table_;
  std::vector<MarkRequest> marks_;  // asked for, and not placed yet
  UnrecordedList unrecorded_;
  InnerAllocators inner_;
  ProcReader proc_reader_;  // after inner_, which it uses
  LiveGauge gauge_;
  uint32_t target_pid_ = 0;
  std::atomic<bool> is_woken_ = false;  // and run() is to look why
  uint64_t next_check_ns_ = 0;
  uint64_t next_sweep_ns_ = 0;
  uint64_t sleep_ns_ = base::kMillisecondNs;  // at most, the next time
};

}  // namespace heaptape::recorder
