// Turns the rings of one process into its tape: drains them, merges them into one order, writes.
//
// The order is that of the stamps, as far as it can be a real one: an address is never handed out
// again before it was given up. docs/decisions/0002-order.md says why stamps give that by
// themselves but for one case, realloc, whose implicit free is logged only after the call; the
// merge puts such a record where it must have happened, and counts it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "recorder/collector/live_set.h"
#include "recorder/collector/ring_cursor.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::recorder {

// One thread: the collector's.
class ProcessRecorder {
 public:
  // `start_ns` is the monotonic time that the tape counts from.
  ProcessRecorder(SessionView session, uint32_t slot, std::unique_ptr<schema::TapeWriter> writer,
                  uint64_t start_ns);

  uint32_t slot() const { return slot_; }
  schema::TapeWriter& writer() { return *writer_; }
  const LiveSet& live_set() const { return live_; }
  size_t rings() const { return cursors_.size(); }

  // The ring at `index` belongs to this process from now on.
  void add_ring(uint32_t index);

  // Moves records stamped up to `cut` from the rings to the tape. `cut` must have been taken with
  // stamp_now(), and every ring claimed up to then must have been added; kEverything takes all
  // there is, when the process is gone. Returns how many events that gave. `now_ns` is monotonic
  // time and not before `start_ns`.
  static constexpr uint64_t kEverything = UINT64_MAX;
  uint64_t drain(uint64_t cut, uint64_t now_ns);
  // drain() holds records back until a realloc that is under way has been logged.
  bool waiting() const { return waiting_since_ns_ != 0; }

  // Nothing waits in the rings that an earlier drain() has not seen.
  bool idle() const;

  // `sample.time_ns` and `sample.event` are filled in.
  void add_sample(schema::ProcessSample sample, uint64_t now_ns);

  // Frees rings whose threads are gone and returns their indices. `thread_is_gone(tid)` is asked
  // for idle rings only.
  template <typename Predicate>
  std::vector<uint32_t> free_dead_rings(Predicate thread_is_gone);

  // What the rings and the merge say of the run; the rest of the summary is the caller's.
  schema::TapeSummary collect_summary(uint64_t now_ns) const;

  // Gives all rings and the process slot back. The process must be gone, or detached.
  void free_slot();

 private:
  struct RingCounts {
    uint64_t lost = 0;
    uint64_t stalls = 0;
    uint64_t stall_ns = 0;

    void add(const RingHeader& ring);
  };

  enum class Emitted : uint8_t { kYes, kMustWait };

  // How emit() is to treat a block that is handed out while it looks alive.
  struct Pass {
    const RingCursor* cursor;  // whose record is being emitted
    bool may_wait;
    const Pass* outer;  // that needs this one to come first; or null
    int depth;

    bool involves(const RingCursor* other) const {
      return cursor == other || (outer != nullptr && outer->involves(other));
    }
  };

  void drain_unstamped(RingCursor& cursor);
  bool drain_merged(uint64_t cut, uint64_t now_ns);
  Emitted emit(const Record& record, const Pass& pass);
  bool emit_pending_release(uint64_t address, uint64_t stamp, const Pass& pass);
  void append(const Record& record, uint32_t thread);

  SessionView session_;
  uint32_t slot_;
  std::unique_ptr<schema::TapeWriter> writer_;
  uint64_t start_ns_;
  LiveSet live_;
  std::vector<std::unique_ptr<RingCursor>> cursors_;
  std::vector<RingCursor*> heap_;  // scratch of drain_merged: rings with visible records
  uint32_t next_thread_ = 0;
  bool heap_stale_ = false;        // emit() took records from other rings
  uint64_t waiting_since_ns_ = 0;  // 0: not waiting
  uint64_t repaired_inversions_ = 0;
  uint64_t unrepaired_inversions_ = 0;
  uint64_t unknown_frees_ = 0;
  RingCounts freed_counts_;  // of rings that were freed already
};

template <typename Predicate>
std::vector<uint32_t> ProcessRecorder::free_dead_rings(Predicate thread_is_gone) {
  std::vector<uint32_t> freed;
  std::erase_if(cursors_, [&](const std::unique_ptr<RingCursor>& cursor) {
    if (!cursor->drained() || !thread_is_gone(cursor->tid())) return false;
    cursor->refresh();  // its last words, written between the drain and its end
    if (!cursor->drained()) return false;
    freed_counts_.add(cursor->header());
    cursor->free_ring();
    freed.push_back(cursor->index());
    return true;
  });
  return freed;
}

}  // namespace heaptape::recorder
