// Merges the rings of one process into the one order of its tape.
//
// That order is the order of the stamps, with one exception: a realloc gives its old block up
// during the call, but is logged after it. Another thread can get the block and log that first.
// docs/decisions/0002-order.md proves that there is no other case. Example, with time to the right
// and stamps in brackets:
//
//   thread a   malloc=X [10]    [20 ─────── realloc(X)=Y ─────── 50]
//   thread b              malloc=Z [15]   malloc=X [30]   free(X) [40]
//
//   by stamps    a +X   b +Z   b +X   b -X   a -X+Y      X is handed out while it is live
//   the tape     a +X   b +Z   a -X+Y   b +X   b -X      one repaired inversion
//
// When b's malloc of X comes up, X is live, so the merge looks at the next call of every other ring
// for one that gives X up and began before [30]. It finds a's realloc and writes that first. If a
// has not logged it yet, its ring says that it is resizing X, and the merge waits for that record.
// If it does not come in time, or if no ring says so (a free that was lost, or made where no hook
// is), it writes b's malloc all the same and counts an unrepaired inversion.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recorder/collector/call_batch.h"
#include "recorder/collector/live_set.h"
#include "recorder/collector/live_sizes.h"
#include "recorder/collector/memory_owners.h"
#include "recorder/collector/own_mappings.h"
#include "recorder/collector/ring_cursor.h"
#include "recorder/collector/ring_run.h"
#include "recorder/collector/stack_table.h"
#include "recorder/collector/tape_clock.h"
#include "recorder/collector/thread_names.h"
#include "schema/tape/tape_encoder.h"
#include "schema/tape/tape_info.h"

namespace heaptape::recorder {

// Guarantees:
// - Each call that a ring holds is written once, and the calls of one thread in their order.
// - No call is written before an older one of another thread, but for the realloc above.
// - No block is handed out twice without being given up in between, and none is given up that is
//   not live, unless unrepaired_inversions or unknown_frees of the summary count it.
// - The end of a thread stands behind its last call, and before each call that happened after it
//   (by whoever joined the thread, say) and the first call of a thread that began after it. It is
//   never later than the first round that begins after it. The threads that die with their
//   process have none.
// - Each loss is counted: the summary's lost_events has the calls that producers could not log, and
//   one for each broken ring, whatever that held.
// - Nothing here blocks, but for the backlog's mutex. Calls are held back only for a resize that is
//   under way, and for kPatienceMs at most.
// - What a hostile producer writes decides what is on the tape of its own process, and how much
//   memory the live set takes (4 KiB for each 256 KiB of addresses in which a block begins, and as
//   much again for large blocks that begin as glibc's with a mapping of their own do).
//
// One thread: the collector's.
class RingMerge {
 public:
  enum class WithStacks : bool { kNo, kYes };

  // `tape` takes the events; it and `backlog` must outlive the merge. `start_ns` is the monotonic
  // time that the tape counts from.
  RingMerge(Backlog& backlog, SessionView session, uint32_t slot, schema::TapeEncoder& tape,
            uint64_t start_ns, WithStacks with_stacks = WithStacks::kNo);
  // Goes on where `before` is, at `cut`, with its rings and what is left of its rounds, on another
  // tape: one that begins late. What `before` counted is over.
  RingMerge(RingMerge&& before, schema::TapeEncoder& tape, uint64_t cut);

  const LiveSet& live_set() const { return live_; }
  const OwnMappings& own_mappings() const { return own_mappings_; }
  // The owners of memory beside malloc.
  MemoryOwners& owners() { return owners_; }
  // A forked process gets its parent's owners of memory, and its blocks with a mapping of their own
  // unless there are very many. Null: the parent is not known any more.
  void await_inheritance();
  bool awaits_inheritance() const { return owners_.awaits_inheritance(); }
  void inherit(const RingMerge* parent);
  // The bytes that its calls have asked for so far.
  uint64_t asked_bytes() const { return asked_bytes_; }
  // The number of calls on the tape, with those that are no events.
  uint64_t written() const { return tape_.events() + beside_written_; }
  // From now on, before the first call, sizes() are counted. Null: they are not.
  void count_sizes() { sizes_ = std::make_unique<LiveSizes>(); }
  const LiveSizes* sizes() const { return sizes_.get(); }

  // The ring at `index` belongs to this process from now on.
  void add_ring(uint32_t index);

  // Copies what is in the rings, for a round of its own: the calls stamped up to `cut`. `cut` must
  // have been taken with stamp_now(), and every ring claimed up to then must have been added;
  // kEverything takes all there is and waits for nothing: for a process that is gone. `now_ns` is
  // monotonic time, when the cut was taken. False, and nothing is done, while rounds are left and
  // the backlog has no room, or very many rounds are left.
  static constexpr uint64_t kEverything = UINT64_MAX;
  bool begin_round(uint64_t cut, uint64_t now_ns);
  // The tape ends at `cut`: nothing comes behind it but a resize that began before, if another
  // thread has its old block by then. What that hands out may be beyond the tape.
  void end_at(uint64_t cut) { end_cut_ = cut; }
  // A round up to `cut` was begun.
  bool has_begun(uint64_t cut) const { return last_cut_ >= cut; }
  // Rounds are left.
  bool has_rounds() const { return !rounds_.empty(); }
  // Puts calls of the oldest rounds onto the tape, until these are done or some `most` calls are.
  // False if there is no more to do for now: no round is left, or a call is waited for.
  bool work(uint64_t most);
  // Puts all calls of all rounds onto the tape, and waits for none.
  void finish_rounds();
  // One round, and all that were left. Returns how many calls came onto the tape.
  uint64_t drain(uint64_t cut, uint64_t now_ns);

  // The fork with that number (ProcessSlot::fork). Null: it is not known, or not yet. Only of the
  // last forks.
  struct Fork {
    uint64_t number;
    uint64_t calls_before;  // on the tape
    uint32_t thread;        // that made it
  };
  const Fork* find_fork(uint32_t number) const { return find(forks_, number); }
  const std::deque<Fork>& forks() const { return forks_; }
  static const Fork* find(const std::deque<Fork>& forks, uint32_t number);

  // No call stamped up to `cut`, that of a round, is held back.
  bool has_written_up_to(uint64_t cut) const;
  // Rounds that were begun, and those that are done.
  uint64_t rounds_begun() const { return rounds_begun_; }
  uint64_t rounds_done() const { return rounds_begun_ - rounds_.size(); }

  // Fills in `sample.time_ns` and `sample.event`.
  void add_sample(schema::ProcessSample sample, uint64_t now_ns);

  // What code the process has mapped, as /proc/PID/maps has it now.
  void note_code(const std::vector<schema::CodeMapping>& mappings) { stacks_->note_code(mappings); }
  // As StackTable has it.
  std::vector<uint64_t> take_calls_of_no_file() { return stacks_->take_calls_of_no_file(); }

  // Behind the calls written so far. Returns where that is.
  schema::Mark add_mark(std::string name, uint64_t now_ns);

  // Frees the rings of threads that are dead, once they have been read to their end, and returns
  // their indices.
  std::vector<uint32_t> free_dead_rings();
  // As RingCursor has it, of at most so many rings. Returns of how many.
  uint32_t trim_idle_rings(uint64_t now_ns, uint32_t most);
  void trim_rings();
  // The owners of all its rings are dead.
  bool all_owners_dead() const;

  // RingHeader::thread_block of the threads that live: any values.
  std::vector<uint64_t> thread_blocks() const;

  // Its threads' names, as far as they are due, from /proc.
  void refresh_names(uint32_t pid, uint64_t now_ns) { names_.refresh_if_due(pid, now_ns); }

  // After the last drain: puts the time of the last call, and of that drain, onto the tape.
  void finish_times() { clock_.finish(); }

  // Of the stacks of some calls, where stacks are found by frame pointers.
  struct StackCounts {
    uint64_t stacks = 0;
    uint64_t that_end_at_once = 0;  // as StackTable has it
  };
  const StackCounts& stack_counts() const { return stack_counts_; }
  // As the summary has them.
  struct Troubles {
    uint64_t lost = 0;
    uint64_t stalls = 0;
    uint64_t stall_ns = 0;
  };
  Troubles troubles() const;
  // What the rings and the merge counted. How the process ended is for the caller to fill in.
  schema::TapeSummary collect_summary(uint64_t now_ns) const;

  // Forgets all rings and returns their indices. kAll makes them free for others: the process must
  // be gone. kOfTheDead leaves its ring to a thread that lives and will publish it anew.
  enum class Free : uint8_t { kAll, kOfTheDead };
  std::vector<uint32_t> free_rings(Free which);

 private:
  struct RingCounts {
    uint64_t lost_full = 0;
    uint64_t lost_stopped = 0;
    uint64_t lost_broken = 0;
    uint64_t stalls = 0;
    uint64_t stall_ns = 0;

    void add(const RingCursor& cursor);
  };
  RingCounts ring_counts() const;
  schema::LossCauses loss_causes(const RingCounts& rings) const;

  enum class Written : uint8_t { kYes, kNo, kMustWait };

  // The ring whose next call is being written, and why.
  struct Turn {
    const RingCursor* cursor;
    bool may_wait;      // for a call that is yet to be logged
    const Turn* outer;  // the turn that needs this one to come first; or null
    int depth;

    bool involves(const RingCursor* other) const {
      return cursor == other || (outer != nullptr && outer->involves(other));
    }
  };

  // The calls up to `cut` that were in the rings when it began.
  struct Round {
    uint64_t number;
    uint64_t cut;
    uint64_t now_ns;          // of the cut
    bool process_is_gone;     // nobody was left: an exit killed them
    bool is_entered = false;  // its calls can be seen
    uint64_t first_event = 0;
  };
  enum class Progress : uint8_t { kDone, kMore, kWaits };

  void enter(Round& round);
  Progress work_on(const Round& round, uint64_t last_written);
  void leave(const Round& round);
  bool is_read() const;
  void note_ends();
  void note_end(RingCursor& cursor);
  void add_end(uint32_t thread);
  void write_ends();
  void note_stack(schema::FrameNumber stack);
  bool end_is_sure(uint64_t now_ns) const;
  Progress drain_unstamped(RingCursor& cursor, uint64_t last_written);
  Progress drain_merged(uint64_t cut, uint64_t last_written);
  bool write_next(uint64_t cut);
  bool write_after_its_cause(RingCursor& cursor);
  void write_beside_call(RingCursor& cursor);
  void note_setting(const schema::SteeringCall& call);
  void put_back(RingCursor& cursor, uint64_t cut);
  Written write(const LoggedCall& call, const Turn& turn);
  // What to do with a call that hands out a block that is live.
  enum class IfLive : uint8_t { kCount, kStop };
  size_t write(const CallRun& run, IfLive if_live);
  size_t note_blocks(std::span<const schema::Event> calls, IfLive if_live);
  void note_changes(const ChangedBlocks& blocks, uint64_t size);
  Written write_what_gave_up(uint64_t block, uint64_t stamp, const Turn& turn);
  bool may_be_given_up(uint64_t block) const;
  void forsake(uint64_t block);

  Backlog& backlog_;
  SessionView session_;
  uint32_t slot_;
  schema::TapeEncoder& tape_;
  uint64_t start_ns_;
  const WithStacks with_stacks_;
  const bool by_frame_pointers_;
  uint32_t stacks_seen_ = 0;
  StackCounts stack_counts_;
  TapeClock clock_;
  ThreadNames names_;
  LiveSet live_;
  OwnMappings own_mappings_;
  MemoryOwners owners_;
  uint64_t asked_bytes_ = 0;
  uint64_t beside_written_ = 0;
  std::deque<Fork> forks_;  // the last ones
  // The settings of the whole process that hold, in the order of their calls.
  std::vector<schema::SteeringCall> settings_;
  std::unique_ptr<LiveSizes> sizes_;  // null: not counted
  std::unique_ptr<StackTable> stacks_;
  std::vector<std::unique_ptr<RingCursor>> cursors_;
  std::deque<Round> rounds_;  // not done, the oldest first
  uint64_t rounds_begun_ = 0;
  uint64_t last_cut_ = 0;          // of rounds that were begun
  uint64_t done_cut_ = 0;          // of rounds that are done
  uint64_t end_cut_ = UINT64_MAX;  // of end_at()
  std::vector<RingCursor*> heap_;  // scratch of drain_merged: rings with visible calls
  uint32_t next_thread_ = 0;
  std::vector<uint32_t> ending_;  // threads that ended after the last call written
  uint64_t ending_since_ns_ = 0;  // when the first of them was seen
  uint64_t round_ns_ = 0;         // now_ns of the round that is being worked on
  uint64_t begun_ns_ = 0;         // now_ns of the last round that was begun
  uint64_t now_ns_ = 0;           // of the last begin_round()
  bool process_is_gone_ = false;
  bool heap_stale_ = false;  // write() took calls from other rings
  // How many calls of a ring are read at a time: few while many of them hand out live blocks.
  uint32_t most_ahead_ = CallBatch::kMost;
  uint64_t waiting_since_ns_ = 0;  // 0: not waiting
  uint64_t repaired_inversions_ = 0;
  uint64_t unrepaired_inversions_ = 0;
  uint64_t unknown_frees_ = 0;
  RingCounts freed_counts_;  // of rings that were freed already
};

}  // namespace heaptape::recorder
