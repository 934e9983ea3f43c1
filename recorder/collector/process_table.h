// The processes of a recording: finds them in the session, gives each its rings, and finishes its
// tape when it ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/collector/handshake_server.h"
#include "recorder/collector/pools.h"
#include "recorder/collector/recorded_process.h"
#include "recorder/collector/tape_names.h"
#include "recorder/collector/tape_writers.h"
#include "schema/tape/manifest.h"

namespace heaptape::recorder {

// A slot of the recording: its pool's number in the high half, its index there in the low half.
using SlotId = uint64_t;

// What a process says about itself in the slot that it claimed. The fields are those of
// ProcessSlot.
struct Claim {
  SlotId slot;
  uint32_t flags;
  uint32_t pid;
  uint64_t serial;
  uint64_t parent_serial;
  uint32_t fork;
  uint64_t initial_break;
  std::string program;    // its name, as it was executed
  std::string allocator;  // path of the library
  schema::RecordedAllocator recorded_allocator;
};

// Guarantees: a slot has one process at a time, and a ring one owner.
// One thread: the collector's.
class ProcessTable {
 public:
  // `backlog` and `pools` outlive the table.
  ProcessTable(Backlog& backlog, Pools& pools, HandshakeServer& handshakes,
               const std::string& tape_path)
      : backlog_(backlog), pools_(pools), handshakes_(handshakes), names_(tape_path) {}

  // Adopts the processes and rings that were claimed since the last call. Call it after taking the
  // cut of a round and before reading rings, so that all that happened before the cut is in a ring
  // that is known.
  void adopt_claims();

  // Takes what is left in the rings of a process, finishes its tape and frees its slot and rings;
  // waits for no file. The process must be gone, or have executed another program. The next
  // adopt_claims() leaves its pool if nobody else is there.
  void end(SlotId slot, schema::EndReason reason, int32_t status);
  // Takes what came up to `cut`, or kNothingMore, and finishes the tape of a process that goes on
  // without us, is about to end, or has ended behind a bound. Its slot and rings stay taken.
  static constexpr uint64_t kNothingMore = 0;
  void leave(SlotId slot, uint64_t cut,
             schema::EndReason reason = schema::EndReason::kRecordingStopped);

  // The recording pauses: processes that come from now on are on no tape, nor is what comes of a
  // process behind leave_tape(), which does to its tape what leave() does.
  void pause() {
    pauses_ = true;
    writers_.drop_spares();
  }
  void leave_tape(SlotId slot, uint64_t cut);
  // The number of the interval that is being recorded, or was last; from 1.
  uint32_t interval() const { return interval_; }
  // Another interval of the recording: each process has a new tape, with what comes behind `cut`.
  // That of the process `first_pid`, or of the first that there is, is at `tape_path`. What is
  // counted for all processes begins anew. After note_start().
  void resume(const std::string& tape_path, uint32_t first_pid, uint64_t cut);

  // The slots of processes that are dead and have no rounds left. Those may yet show a thread that
  // nobody knew of: they are told to join anew.
  std::vector<SlotId> find_gone();

  // Frees the rings of threads that are dead, and the slots and rings whose owners died before the
  // collector ever saw them.
  void free_what_the_dead_left();

  // By slot. adopt_claims(), end() and leave() change it.
  using Processes = std::map<SlotId, std::unique_ptr<RecordedProcess>>;
  const Processes& processes() const { return processes_; }
  std::vector<uint32_t> pids() const;  // among ours
  // By its pid among ours; or null.
  RecordedProcess* find_pid(uint32_t pid);

  // The next tape goes into this empty file, which holds its name; none: it makes one.
  void use_first_file(std::unique_ptr<base::OutputFile> file) { first_file_ = std::move(file); }
  // The recording awaits its start; it has one. Processes of before are on tapes only since then.
  static constexpr uint64_t kNotStarted = UINT64_MAX;
  void note_start(uint64_t now_ns);
  // Calls of processes of now before the start, as far as they have said so.
  uint64_t unseen_calls() const;
  // Before the first process: only the last calls are kept. All tapes together have keep.bytes, but
  // no tape less than its last chunk.
  void keep_last(const schema::KeepLast& keep, std::shared_ptr<schema::WindowFile> file) {
    writers_.keep_last(keep, std::move(file));
  }
  // As RecordedProcess has it, of all, also of those that have ended.
  RecordedProcess::Saved save_up_to(uint64_t cut, uint64_t number);
  // From time to time: shares out what may be kept.
  void share_window();
  // From now on, before the first process, the live sizes of each are counted.
  void count_sizes() { counts_sizes_ = true; }
  // Of the processes whose tapes are finished, or about to be.
  const ProcessTotals& ended() const { return ended_; }
  // As TapeWriters has them.
  std::vector<pthread_t> writer_threads() { return writers_.threads(); }
  WrittenSoFar written() const;

  // Waits until every finished tape is in its file, and completes manifest() and failures().
  void wait_for_tapes();

  // One entry for each process, the first process first; whole after wait_for_tapes().
  std::vector<schema::ManifestProcess>& manifest() { return manifest_; }
  // Of the processes whose tapes are finished.
  const RingMerge::StackCounts& stack_counts() const { return stack_counts_; }
  // One sentence for each thing that went wrong.
  std::vector<std::string>& failures() { return failures_; }
  // The same of copies that were to be written meanwhile, and of what could not be kept.
  std::vector<std::string> take_window_failures() { return writers_.take_window_failures(); }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  // A forked process that waits for what it inherits: its parent's owners of memory, and how far
  // the parent's tape was at the fork.
  struct Heir {
    SlotId slot;
    uint32_t fork;  // ProcessSlot::fork
    uint64_t parent_serial;
    uint64_t parent_round;  // until this one is done
  };

  // What a process that has ended leaves to children that join after that, as a daemon may.
  struct Estate {
    uint64_t serial;
    std::string tape;  // its path
    uint64_t start_unix_ns;
    std::deque<RingMerge::Fork> forks;
    std::vector<base::AddressRange> regions;
  };

  void find_claims(const Pool& pool, std::vector<Claim>& found) const;
  void adopt_process(const Claim& claim);
  void adopt_rings(const Pool& pool);
  // Serves the heirs whose parents are that far, and all those of a parent that ends.
  static constexpr uint64_t kNoProcess = UINT64_MAX;
  void settle_heirs(uint64_t ending_parent = kNoProcess);
  // Before its tape ends: with what is known of the parent by now.
  void settle_last_moment(SlotId slot);
  void read_rest_of(RecordedProcess& process);
  static void bequeath(RecordedProcess& parent, RecordedProcess& child, uint32_t fork);
  void leave_estate(const RecordedProcess& process);
  void inherit_estate(RecordedProcess& child, uint64_t parent_serial, uint32_t fork) const;
  ProcessIdentity identify(const Claim& claim);
  schema::TapeHeader make_header(const Claim& claim, const ProcessIdentity& identity) const;
  std::unique_ptr<TapeStream> create_tape(RecordedProcess::Traits& traits);
  void finish_tape(SlotId slot, uint64_t cut, schema::EndReason reason);
  void change_tape(SlotId slot, uint64_t cut);
  RecordedProcess* find_serial(uint64_t serial);
  bool may_have_pid(const Claim& claim);
  void end_replaced(uint32_t pid);
  Pool& pool_of(SlotId slot) const { return pools_.at(static_cast<uint32_t>(slot >> 32)); }
  ProcessSlot& shared(SlotId slot) const {
    return pool_of(slot).view().process(static_cast<uint32_t>(slot));
  }
  // By ring, with an entry for each of the first `rings`.
  std::vector<uint32_t>& owners_in(const Pool& pool, uint32_t rings);
  void free_slot(const Pool& pool, uint32_t index);
  void free_what_the_dead_left_in(const Pool& pool);
  void leave_empty_pools();
  void forget(SlotId slot);
  void finish(RecordedProcess& process, schema::EndReason reason, int32_t status);
  void note_failures(const std::vector<std::string>& failures);

  Backlog& backlog_;
  Pools& pools_;
  HandshakeServer& handshakes_;
  TapeNames names_;
  TapeWriters writers_;
  Processes processes_;
  std::unordered_map<uint64_t, SlotId> slot_of_serial_;
  std::unordered_map<uint32_t, SlotId> slot_of_pid_;  // of processes whose pids are ours
  // By pool: the slot of each ring that was ever taken, or kNobody.
  std::unordered_map<uint32_t, std::vector<uint32_t>> ring_owners_;
  std::vector<Heir> heirs_;
  std::deque<Estate> estates_;  // the last ones
  std::unique_ptr<base::OutputFile> first_file_;
  bool pauses_ = false;
  uint32_t interval_ = 1;
  WrittenSoFar written_before_;  // in earlier intervals
  bool counts_sizes_ = false;
  bool has_ended_ = false;  // a process, since the pools were looked through
  ProcessTotals ended_;
  std::vector<schema::ManifestProcess> manifest_;
  std::vector<std::string> failures_;
  RingMerge::StackCounts stack_counts_;
  uint64_t start_ns_ = 0;  // of the recording: note_start()
};

}  // namespace heaptape::recorder
