// The heap of a recorded process over time, in a bounded number of points, for viewers of traces.
// docs/metrics.md, "Exports".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replayer/answers/moment.h"
#include "replayer/engine/slot_resolver.h"
#include "replayer/metrics/call_times.h"
#include "replayer/sites/stack_profile.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// All times are nanoseconds since the recording began; of a tape without times, 1,000 a call.
struct HistoryPoint {
  uint64_t time_ns = 0;
  uint64_t value = 0;

  bool operator==(const HistoryPoint&) const = default;
};

struct HistorySeries {
  std::string name;  // of the metric: "liveBytes"
  bool is_bytes = true;
  std::vector<HistoryPoint> points;  // by time
};

struct HistoryMark {
  uint64_t time_ns = 0;
  std::string name;
};

// The blocks of a stack since the recording began.
struct StackState {
  uint64_t calls = 0;  // that got a block
  uint64_t asked_bytes = 0;
  uint64_t live_count = 0;
  uint64_t live_bytes = 0;

  bool operator==(const StackState&) const = default;
};

struct HeapMoment {
  std::string name;  // as Moment has it; empty: one of those between
  uint64_t time_ns = 0;
  // The stacks that changed since the moment before. No sum of a stack falls from one moment to
  // the next, nor does what it freed, even if stacks were sampled.
  std::vector<std::pair<schema::FrameNumber, StackState>> changed;
};

struct HeapHistory {
  bool has_times = false;
  uint64_t end_ns = 0;
  std::vector<HistorySeries> series;
  std::vector<HistoryMark> marks;   // by time
  std::vector<HeapMoment> moments;  // by time; the last is the end
};

// The moments to keep of a tape, ascending: those that were found, the peak and the end at least,
// and some between, as far as `stack_limit` (no more stacks than that) leaves room for.
std::vector<Moment> moments_to_keep(const std::vector<Moment>& found, uint64_t events,
                                    uint64_t stack_limit);

// Memory grows with the stacks that have blocks, not with calls. One thread.
class HistoryBuilder {
 public:
  // The bounds of what is kept.
  static constexpr uint64_t kWindows = 1000;  // with two points each, for each series
  static constexpr size_t kMostSamples = 2000;
  static constexpr size_t kMostMarks = 4096;
  static constexpr uint64_t kMostStates = 1 << 20;

  // `events`: that will come.
  HistoryBuilder(uint64_t events, bool has_times);

  // The next events of the tape.
  void add(const schema::EventBatch& read, const ResolvedBatch& resolved);
  // The events so far lead to that moment. `profile` has counted them; null: there are no stacks.
  void take(const Moment& moment, const StackProfile* profile);
  // Once.
  HeapHistory finish();

 private:
  // The highest value since the last window ended, and where it was.
  struct Window {
    uint64_t most = 0;
    uint64_t most_ns = 0;
    bool is_new = true;

    void note(uint64_t value, uint64_t time_ns) {
      most = value;
      most_ns = time_ns;
      is_new = false;
    }
  };
  enum Tracked : uint8_t { kLiveBytes, kLiveCount, kCumulativeBytes, kTracked };

  uint64_t time_of(uint64_t call) { return has_times_ ? times_.time_of(call) : call * 1000; }
  void count(const allocators::ReplayOp& op);
  void end_window(uint64_t time_ns);
  void add_samples(const std::vector<schema::ProcessSample>& samples);
  void add_sample_series();
  void make_monotonic();

  HeapHistory history_;
  bool has_times_;
  bool is_sampled_ = false;
  uint64_t window_calls_;
  uint64_t done_ = 0;
  CallTimes times_;
  std::array<uint64_t, kTracked> now_{};
  std::array<Window, kTracked> windows_;
  std::vector<schema::ProcessSample> samples_;
  std::vector<uint64_t> committed_;  // bytes of the regions of each of samples_
  std::unordered_map<schema::FrameNumber, StackState> last_;
};

// Reads a tape from its beginning. `moments`: ascending, as moments_to_keep() has them.
// `has_times`: the tape knows when calls were made. `profile` counts all events; null: the tape has
// no stacks. `progress`, which must not be empty, gets the share done, 0 to 1. Fails if the tape is
// damaged.
base::Result<HeapHistory> read_history(schema::TapeReader& tape, const std::vector<Moment>& moments,
                                       bool has_times, StackProfile* profile,
                                       const std::function<void(double)>& progress);

}  // namespace heaptape::replayer
