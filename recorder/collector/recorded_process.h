// One process of a recording: who it is, its merge and tape, and whether it still runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "recorder/collector/proc_reader.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/collector/ring_merge.h"
#include "recorder/collector/sample_schedule.h"
#include "recorder/collector/tape_writers.h"

namespace heaptape::recorder {

// What a process, or several, did so far.
struct ProcessTotals {
  uint64_t processes = 0;
  uint64_t calls = 0;  // on their tapes
  RingMerge::Troubles troubles;

  void add(const ProcessTotals& other);
};

class RecordedProcess {
 public:
  // A program's calls of 100 ms ago are in the file, unless the backlog has them still. The rest is
  // for the rings to be copied, for the next look at the clock, and for the file.
  static constexpr uint64_t kSaveAfterNs = 50 * base::kMillisecondNs;

  struct Traits {
    ProcessIdentity identity;
    std::string tape_path;  // empty, like manifest_index and code_names, if it is on no tape
    schema::TapeHeader header;
    uint64_t serial = 0;      // ProcessSlot::serial
    bool is_glibc = false;    // glibc serves its malloc
    bool pid_is_ours = true;  // identity.pid names it in our pid namespace, too
    size_t manifest_index = 0;
    uint64_t save_after_ns = kSaveAfterNs;  // save_if_due() hands over what is older
    std::shared_ptr<CodeNames> code_names;  // null where no stacks are recorded
  };

  // `merge` reads the rings of the process in `slot` and writes to `tape`.
  RecordedProcess(std::unique_ptr<TapeStream> tape, std::unique_ptr<RingMerge> merge,
                  ProcessSlot& slot, Traits traits, uint64_t begin_ns);
  // The process goes on at `cut`, on another tape.
  RecordedProcess(RecordedProcess&& before, std::unique_ptr<TapeStream> tape, Traits traits,
                  uint64_t cut);

  RingMerge& merge() { return *merge_; }
  const RingMerge& merge() const { return *merge_; }
  TapeStream& tape() { return *tape_; }
  const TapeStream& tape() const { return *tape_; }
  const Traits& traits() const { return traits_; }
  bool is_on_tape() const { return !tape_->drops_all(); }

  // base::monotonic_ns() of the beginning of its tape.
  uint64_t begin_ns() const { return begin_ns_; }
  ProcessTotals totals() const;
  // As ps shows it, when it was sampled last; before that, its command line.
  const std::string& title() const { return title_; }
  // Anonymous memory, when it was sampled last; nothing before.
  std::optional<uint64_t> resident_bytes() const { return resident_bytes_; }

  // Whether `pid` names this process in our pid namespace.
  bool is(uint32_t pid) const { return traits_.pid_is_ours && traits_.identity.pid == pid; }
  // It has ended: as the kernel says of its pid, or, where that means nothing to us or we have no
  // descriptor left, as its threads' locks say. A thread that never called malloc has none; should
  // it do so later, it joins as a process of its own.
  bool is_gone() const;
  // Takes what the process from which it was forked has now, soon after the fork.
  void inherit(RecordedProcess& parent);
  // Takes the regions() of one that has ended.
  void inherit(std::vector<base::AddressRange> regions);
  const std::vector<base::AddressRange>& regions() const { return regions_; }
  // The recording begins now, later than the process. It is sampled at once, because that sample
  // says what malloc had before.
  void note_late_start(uint64_t now_ns) {
    is_late_ = true;
    schedule_.begin_at(now_ns);
  }
  // A reading showed that it executed another program, which is not recorded or has not joined yet.
  bool was_replaced() const { return was_replaced_; }
  // Frees its rings and returns their indices. A thread that we did not know of when is_gone() took
  // the process for dead keeps its ring, and publishes it anew for the process that it joins.
  std::vector<uint32_t> free_rings();

  // As RingMerge has them. While the tape's file is behind, nothing comes onto the tape: that holds
  // up nobody else.
  void begin_round(uint64_t cut, uint64_t now_ns);
  bool work(uint64_t most);
  // The last work() had to leave that to a later one.
  bool is_held_up() const { return is_held_up_; }
  // Puts a mark behind the calls of a round, and returns where that is; nothing if a call up to
  // `cut`, that of the round, is still missing: ask again after the next.
  std::optional<schema::Mark> add_mark(const std::string& name, uint64_t cut, uint64_t now_ns);
  // Sees to it that what came a while ago gets into the file: that much survives if we are killed.
  void save_if_due(uint64_t now_ns);
  // Whether all calls up to `cut`, that of a round, are in the file. If not, sees to it: ask again.
  // If only the last calls are kept, the file is a tape of its own, the copy `number`.
  enum class Saved : uint8_t { kNotYet, kYes, kFailed };
  Saved save_up_to(uint64_t cut, uint64_t number, uint64_t start_ns);
  // All but how it ended, of a recording that began at `start_ns`.
  schema::TapeSummary summary(uint64_t start_ns) const;
  // Asks `reader` when it is time for a sample, and takes it once it is there: neither waits.
  // `processes` share the time that is spent on samples.
  void sample_if_due(uint64_t now_ns, size_t processes, ProcReader& reader);

 private:
  // So the kernel says: no thread is left.
  bool pid_is_gone() const;
  void take_reading(size_t processes);
  void take_code(const ProcessCode& code);
  void take_names();
  void take_sample(size_t processes);

  std::unique_ptr<TapeStream> tape_;
  std::unique_ptr<RingMerge> merge_;
  ProcessSlot& slot_;
  const Traits traits_;
  const uint64_t begin_ns_;
  base::Descriptor pidfd_;     // none: the pid is not ours, or no descriptor was left
  bool was_gone_ = false;      // before we could open it
  uint64_t next_save_ns_ = 0;  // 0: there was nothing to save
  uint64_t saved_ = 0;         // RingMerge::written() at the last save
  uint64_t saved_cut_ = 0;     // of save_up_to(): what was called by then is handed over
  uint64_t save_job_ = 0;      // that did it: TapeStream::jobs()
  bool has_new_mark_ = false;
  bool is_held_up_ = false;  // the last work() was
  SampleSchedule schedule_;
  // ProcessSlot::code_wanted when its code was read last; another value: to be read at once.
  uint32_t code_wanted_;
  uint64_t code_map_before_ = 0;                // ProcessSlot::code_map then
  uint64_t next_code_ns_ = 0;                   // not earlier
  std::shared_ptr<const ProcReading> reading_;  // asked for, not taken yet
  uint64_t reading_ns_ = 0;                     // when it was seen to be done; 0: not yet
  uint64_t reading_round_ = 0;                  // the last round begun then
  bool is_sample_due_ = false;                  // it is to become a sample
  bool was_replaced_ = false;
  std::string title_;
  std::optional<uint64_t> resident_bytes_;  // of the last sample
  // malloc's regions at the last sample; until there is one, those of its parent.
  std::vector<base::AddressRange> regions_;
  // The part that is still mapped; after a late start, all of malloc's regions so far.
  std::vector<base::AddressRange> inherited_regions_;
  bool is_late_ = false;
  // Shared with readings, which may go on when this process has ended.
  const std::shared_ptr<ProcessInnerAllocators> inner_ = std::make_shared<ProcessInnerAllocators>();
};

}  // namespace heaptape::recorder
