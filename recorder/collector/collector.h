// The recording itself: one loop that copies the rings, puts the calls on a tape for each process,
// samples, and notices the ends of processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/output_file.h"
#include "base/result.h"
#include "recorder/collector/backlog.h"
#include "recorder/collector/control_request.h"
#include "recorder/collector/inner_allocators.h"
#include "recorder/collector/live_figures.h"
#include "recorder/collector/live_gauge.h"
#include "recorder/collector/niceness.h"
#include "recorder/collector/process_table.h"
#include "recorder/collector/ring_watch.h"
#include "recorder/collector/session_memory.h"
#include "recorder/collector/target.h"
#include "recorder/collector/unrecorded_list.h"

namespace heaptape::recorder {

// Takes the share, from 0 to 1, that is on the tapes of what was left when the program ended.
// Called often, in the collector's thread, and must return at once.
using RestWatcher = std::function<void(double share)>;

// When a recording begins that awaits its start.
struct StartAfter {
  uint64_t time_ns = UINT64_MAX;
  uint64_t calls = UINT64_MAX;  // kUnseenCalls less for each thread

  bool operator==(const StartAfter&) const = default;
};

// Where an interval of a recording ends though its program goes on. They hold for all of its tapes
// together; what is left in the rings of a process that ends just then comes on top.
struct RecordingBounds {
  uint64_t duration_ns = UINT64_MAX;  // since its start
  uint64_t calls = UINT64_MAX;        // some of a batch more may be on the tapes
  uint64_t tape_bytes = UINT64_MAX;   // at least kLeastTapeBound
};
// Below that, a recording would end before its first chunk is full.
inline constexpr uint64_t kLeastTapeBound = uint64_t{1} << 20;

// Why a recording ended.
enum class RecordingEnd : uint8_t {
  kOfProgram,  // or of all processes, if it waits for them
  kDuration,
  kCalls,
  kTapeBytes,
  kRequest,    // somebody asked for it: `heaptape ctl`
  kInterrupt,  // a signal to the recorder
};

struct CollectorOptions {
  std::string tape_path;  // of the first process; the others' names are made from it
  std::vector<std::string> command;
  // If the session awaits its start, the recording begins so long after the program, about so many
  // calls after it, or when somebody asks for it.
  StartAfter start_after = {};
  RecordingBounds bounds = {};
  std::optional<schema::KeepLast> keep_last = {};        // nothing: whole tapes
  std::shared_ptr<schema::WindowFile> window_file = {};  // with keep_last; null: in memory
  // Takes the pids among ours of the recorded processes, ten times a second.
  std::function<void(std::vector<uint32_t> pids)> on_pids = {};
  // For all descendants of the program. Those of a child are adopted by this process.
  bool waits_for_all = false;
  // Needed with waits_for_all if the target is our parent: whether a process is left that is, or
  // will be, recorded. Called in the collector's thread, every 50 ms at most.
  std::function<bool()> has_users = {};
  // Called once in the collector's thread when others have outlived the target by a second.
  std::function<void()> on_long_life = {};
  LiveWatcher watcher = {};  // none: nobody watches
  uint64_t backlog_bytes = Backlog::kDefaultBytes;
  RestWatcher rest_watcher = {};  // none: nobody watches
  // Called in the collector's thread when the target has been waited for: its pid may be reused.
  std::function<void()> on_target_end = {};
  std::unique_ptr<base::OutputFile> first_file = {};  // empty, at tape_path; null: none is made yet
  bool overwrites = false;                            // tapes of earlier intervals of that name
  // Makes such a file for another interval, in the collector's thread. After an error, which it has
  // reported, there is none. Missing: nothing is tried.
  std::function<base::Result<base::OutputFile>(const std::string& path)> open_interval = {};
};

// The outcome of a recording, or of an interval of it.
struct Recording {
  std::string tape_path;                        // of the first process
  std::optional<TargetEnd> target_end;          // nothing: it runs on
  RecordingEnd end = RecordingEnd::kOfProgram;  // a bound may also end what an ended program left
  schema::Manifest manifest;                    // the first process first, of all intervals
  size_t first_process = 0;                     // there, of this one
  std::vector<std::string> failures;  // one sentence each: what is not on the tapes, and why
  RingMerge::StackCounts stack_counts;
  std::vector<ProcessIdentity> still_running;  // whose calls from now on are on no tape
  std::vector<ControlRequest> stops;           // for tell_stopped(), with what they are told
  ControlOutcome stop_outcome = ControlOutcome::kDone;
  RecordingTotals totals;
  bool has_started = true;
  uint64_t copies = 0;  // the number of the last flush of the last calls: copy_path()
  bool pauses = false;  // another interval may follow
};

// Answers those who asked for its end: all files are there now.
void tell_stopped(const Recording& recording);

// Guarantees:
// - What a program logged before it ended, however it ended, is on its tape or counted as lost.
// - The loop waits for no program. A program waits for the loop only where the backlog is full, and
//   until a new process or thread is known.
// - A recording that ends before its program holds all calls up to that moment, unless a bound on
//   calls or bytes ended it. The program then runs on as if it were not recorded.
// - Another interval has all calls that begin after the start, and none that ended before.
// One thread, which made the session's memory; only wake(), interrupt() and flush() are for others.
class Collector {
 public:
  Collector(SessionMemory& memory, HandshakeServer& handshakes, CollectorOptions options)
      : pools_(memory.pools()),
        session_(pools_.session()),
        handshakes_(handshakes),
        options_(std::move(options)),
        backlog_(options_.backlog_bytes),
        table_(backlog_, pools_, handshakes, options_.tape_path),
        tape_path_(options_.tape_path),
        proc_reader_(
            [code = handshakes.code()](uint32_t pid, WithPages with_pages) {
              return read_proc_texts(pid, code, with_pages);
            },
            [this](const ProcReading& reading) {
              inner_.look(reading.asked.pid, *reading.texts, *reading.asked.inner);
            },
            [this] {
              pools_.free_unmapped(base::monotonic_ns());
              others_.note_crowd(is_machine_crowded());
            }),
        gauge_(base::monotonic_ns()),
        watch_(
            session_, backlog_, others_,
            [this] {
              // Programs come first until half of the backlog is full.
              if (backlog_.is_half_full()) niceness_.raise();
              wake();
            },
            [this] { niceness_.raise(); }) {
    others_.add(pthread_self());
    for (const pthread_t thread : table_.writer_threads()) others_.add(thread);
    if (options_.watcher) table_.count_sizes();
    if (awaits_start()) table_.note_start(ProcessTable::kNotStarted);
    table_.use_first_file(std::move(options_.first_file));
    if (options_.keep_last) table_.keep_last(*options_.keep_last, options_.window_file);
  }

  // Runs until the target has ended, or the recording is to end, then finishes every tape, also of
  // processes that go on. Once.
  Recording run(const Target& target);
  // After an interval that pauses: waits until somebody asks for another, and records it. Nothing
  // if everything that was to be recorded ends first, or a signal ends the wait.
  std::optional<Recording> run_again();
  const std::optional<TargetEnd>& target_end() const { return end_; }

  // Wakes run() if it sleeps: the target may have ended, or a request may wait. Any thread.
  void wake();
  // Ends the recording; the program goes on. Any thread.
  void interrupt();
  bool is_interrupted() const { return is_interrupted_; }
  // As `heaptape ctl PID flush` does. Any thread.
  void flush();

 private:
  Recording run_interval();
  void go_round();
  void begin_rounds(uint64_t cut);
  bool work();
  void work_off(uint64_t cut);
  void take_requests();
  void answer_requests();
  bool answer(ControlRequest& request);
  void answer_in_pause(const ControlRequest& request);
  void answer_rest(ControlOutcome outcome);
  bool is_of_this_recording(const ControlRequest& request);
  void request_flush();
  RecordingTotals totals() const;
  bool awaits_start() const { return session_.board().pause.load() == Pause::kBeforeStart; }
  void start(uint64_t now_ns);
  void start_if_due(uint64_t now_ns);
  base::Status start_again();
  bool may_pause() const;
  uint64_t end_interval();
  void end_session();
  void look_for_ends();
  void note_bounds(uint64_t now_ns);
  bool is_over() const;
  bool is_full() const;
  RecordingEnd end_of_full() const;
  void end_gone();
  void sweep_if_due(uint64_t now_ns);
  void show_progress();
  void sleep_until_needed();
  void finish_all(uint64_t cut);
  void finish_process(SlotId slot, const RecordedProcess& process, uint64_t cut);

  Pools& pools_;
  const SessionView session_;
  HandshakeServer& handshakes_;
  CollectorOptions options_;
  Backlog backlog_;
  ProcessTable table_;
  std::vector<ControlRequest> requests_;  // not answered yet
  std::vector<ControlRequest> stops_;     // for tell_stopped()
  bool drops_rest_ = false;               // calls that are not on tapes: is_full()
  uint64_t copies_ = 0;                   // flushes of the last calls
  std::vector<ProcessIdentity> still_running_;
  std::optional<TargetEnd> end_;      // nothing: the target runs
  std::optional<RecordingEnd> stop_;  // nothing: the recording goes on
  bool is_ending_ = false;            // its tapes are being finished
  bool pauses_ = false;               // until the next interval
  std::string tape_path_;             // of the first process of the interval
  size_t first_process_ = 0;          // of the interval, in the manifest
  uint64_t name_number_ = 1;          // interval_path() of the last interval
  RecordingTotals last_totals_;       // of the last interval that has ended
  UnrecordedList unrecorded_;
  UnrecordedList unrecorded_in_pauses_;
  InnerAllocators inner_;
  OtherProcessors others_;
  ProcReader proc_reader_;  // after inner_ and others_, which it uses
  LiveGauge gauge_;
  Target target_;
  uint32_t target_pid_ = 0;     // 0 once its tape is finished: it may be another's
  bool announces_end_ = false;  // the target: it is about to end
  bool has_others_ = true;      // as far as it is looked for: besides the target
  uint64_t next_users_ns_ = 0;
  uint64_t users_wait_ns_ = 0;
  uint64_t end_ns_ = 0;                 // when the end of the target was seen
  std::atomic<uint32_t> is_woken_ = 0;  // a futex; 1: run() is to look why
  std::atomic<bool> is_interrupted_ = false;
  std::atomic<bool> is_flush_wanted_ = false;
  uint64_t begin_ns_ = 0;  // when run() began, or its start came
  uint64_t events_ = 0;    // on all tapes
  uint64_t round_ns_ = 0;  // when the last round began
  uint64_t next_check_ns_ = 0;
  uint64_t next_sweep_ns_ = 0;
  uint64_t sleep_ns_ = base::kMillisecondNs;  // at most, the next time
  bool has_work_ = false;                     // work() left some
  Niceness niceness_;
  RingWatch watch_;  // after all that wake() uses
};

}  // namespace heaptape::recorder
