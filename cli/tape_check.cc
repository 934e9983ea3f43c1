#include "cli/tape_check.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "cli/tape_reading.h"
#include "replayer/engine/side_by_side.h"
#include "schema/tape/keyframe.h"

namespace heaptape::cli {
namespace {

using base::Result;
using base::Status;
using schema::EventBatch;
using schema::TapeReader;

constexpr uint64_t kLeastCallsOfAPart = 1 << 19;  // takes longer than to open a tape

// Which threads call and end in a part of a tape.
class ThreadCalls {
 public:
  struct Calls {
    uint64_t count = 0;
    uint64_t first = 0;  // number, from 1
  };

  void add(const EventBatch& batch) {
    auto end = batch.thread_ends.begin();
    for (size_t i = 0; i < batch.events.size(); ++i) {
      const uint64_t event = batch.first_event + i;
      for (; end != batch.thread_ends.end() && end->event <= event; ++end) note_end(end->thread);
      const uint32_t thread = batch.events[i].thread;
      if (thread != caller_) [[unlikely]] {
        caller_ = thread;
        calls_ = ended_.contains(thread) ? &after_end_ : &before_end_[thread];
      }
      if (calls_->count++ == 0) calls_->first = event + 1;
    }
    for (; end != batch.thread_ends.end(); ++end) note_end(end->thread);
  }
  // Adds the calls after an end to `check`; `ended` has the threads that ended in parts before, and
  // then those of this part as well.
  void sum_up(std::unordered_set<uint32_t>& ended, TapeCheck& check) const {
    note_late(after_end_, check);
    for (const auto& [thread, calls] : before_end_) {
      if (ended.contains(thread)) note_late(calls, check);
    }
    ended.insert(ended_.begin(), ended_.end());
  }

 private:
  static constexpr uint64_t kNobody = UINT64_MAX;

  static void note_late(const Calls& calls, TapeCheck& check) {
    if (calls.count == 0) return;
    const bool is_first = check.calls_after_end == 0 || calls.first < check.first_after_end;
    if (is_first) check.first_after_end = calls.first;
    check.calls_after_end += calls.count;
  }
  void note_end(uint32_t thread) {
    ended_.insert(thread);
    if (caller_ == thread) caller_ = kNobody;
  }

  std::unordered_map<uint32_t, Calls> before_end_;  // by thread
  std::unordered_set<uint32_t> ended_;
  Calls after_end_;
  uint64_t caller_ = kNobody;  // of the last call, unless it has ended since
  Calls* calls_ = nullptr;     // where those of the caller are counted
};

// The sum of the parts so far.
struct Merged {
  std::unordered_set<uint32_t> ended;    // threads
  std::unordered_set<uint64_t> damaged;  // offsets of chunks
};

// The calls from one chunk to another. Stays where it is.
class Part {
 public:
  Part(uint64_t begin, uint64_t end) : begin_(begin), end_(end) {}

  // Once. `note` is told of each batch how many calls it has.
  Status read(TapeReader& tape, const std::function<void(size_t)>& note) {
    const size_t known = tape.damages().size();
    Status status = read_calls(tape, note);
    damages_.assign(tape.damages().begin() + static_cast<ptrdiff_t>(known), tape.damages().end());
    return status;
  }
  void sum_up(Merged& merged, TapeCheck& check) const {
    check.events += events_;
    calls_.sum_up(merged.ended, check);
    if (!check.wrong_keyframe) check.wrong_keyframe = wrong_keyframe_;
    // Behind its last good chunk a part may have met damage of the next one.
    for (const schema::Damage& damage : damages_) {
      if (merged.damaged.insert(damage.offset).second) check.damages.push_back(damage);
    }
  }

 private:
  Status read_calls(TapeReader& tape, const std::function<void(size_t)>& note) {
    const std::vector<uint64_t> keyframes = tape.keyframes();
    if (!keyframes.empty()) HEAPTAPE_RETURN_IF_ERROR(begin_heap(tape));
    HEAPTAPE_RETURN_IF_ERROR(tape.seek(begin_));
    auto keyframe = std::ranges::upper_bound(keyframes, begin_);
    EventBatch batch;
    for (uint64_t done = begin_; done < end_;) {
      HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, std::min<uint64_t>(kBatchEvents, end_ - done)));
      if (batch.empty() || batch.first_event >= end_) break;
      calls_.add(batch);
      if (keyframe != keyframes.end()) {
        HEAPTAPE_RETURN_IF_ERROR(follow_heap(tape, batch, keyframe, keyframes.end()));
      }
      if (batch.events.empty()) break;
      events_ += batch.events.size();
      done = batch.first_event + batch.events.size();
      note(batch.events.size());
    }
    return {};
  }
  Status begin_heap(TapeReader& tape) {
    if (begin_ == 0) return {};
    HEAPTAPE_ASSIGN_OR_RETURN(const auto keyframe, tape.read_keyframe(begin_));
    if (keyframe) heap_.begin_with(*keyframe);
    return {};
  }
  // Compares the keyframes that stand among the calls of the batch, or behind them.
  using Keyframe = std::vector<uint64_t>::const_iterator;
  Status follow_heap(TapeReader& tape, const EventBatch& batch, Keyframe& next, Keyframe end) {
    for (size_t i = 0; i < batch.events.size() && next != end && !wrong_keyframe_; ++i) {
      heap_.note(batch.events[i], batch.stacks.empty() ? 0 : batch.stacks[i]);
      if (*next != batch.first_event + i + 1) continue;
      const uint64_t call = *next++;
      HEAPTAPE_ASSIGN_OR_RETURN(const auto kept, tape.read_keyframe(call));
      const schema::Keyframe right = heap_.keyframe();
      const bool is_right = kept && kept->event == call && right.event == call &&
                            kept->blocks == right.blocks && kept->births == right.births &&
                            (kept->stacks.empty() || kept->stacks == right.stacks);
      if (!is_right) wrong_keyframe_ = call;
    }
    return {};
  }

  const uint64_t begin_;
  const uint64_t end_;
  uint64_t events_ = 0;
  ThreadCalls calls_;
  schema::KeyframeTable heap_;
  std::optional<uint64_t> wrong_keyframe_;
  std::vector<schema::Damage> damages_;
};

std::deque<Part> parts_of(const TapeReader& tape, size_t threads) {
  const uint64_t most = std::max<uint64_t>(1, tape.events() / kLeastCallsOfAPart);
  // An unfinished tape may grow, and get another name.
  const uint64_t count = tape.finished() ? std::min<uint64_t>(threads, most) : 1;
  std::vector<uint64_t> places = tape.chunk_beginnings();
  if (const auto keyframes = tape.keyframes(); !keyframes.empty()) {
    std::erase_if(places,
                  [&](uint64_t call) { return !std::ranges::binary_search(keyframes, call); });
  }
  std::deque<Part> parts;
  uint64_t begin = 0;
  for (uint64_t i = 1; i < count; ++i) {
    const auto place = std::ranges::lower_bound(places, tape.events() / count * i);
    if (place == places.end() || *place <= begin) continue;
    parts.emplace_back(begin, *place);
    begin = *place;
  }
  parts.emplace_back(begin, UINT64_MAX);
  return parts;
}

}  // namespace

Result<TapeCheck> check_tape(TapeReader& tape, size_t threads,
                             const std::function<void(double)>& progress) {
  TapeCheck check;
  check.damages = tape.damages();
  std::deque<Part> parts = parts_of(tape, threads);
  std::vector<Status> statuses(parts.size());
  std::atomic<uint64_t> read = 0;
  const auto read_part = [&](size_t i) -> Status {
    const auto note = [&](size_t events) {
      read += events;
      if (i == 0) progress(static_cast<double>(read) / static_cast<double>(tape.events()));
    };
    if (i == 0) return parts[i].read(tape, note);  // by the calling thread
    HEAPTAPE_ASSIGN_OR_RETURN(auto other, TapeReader::open(tape.path(), schema::OnDamage::kSkip,
                                                           schema::Inherited::kLeaveOut));
    return parts[i].read(other, note);
  };
  replayer::for_each_in_threads(parts.size(), parts.size(),
                                [&](size_t i) { statuses[i] = read_part(i); });
  Merged merged;
  for (size_t i = 0; i < parts.size(); ++i) {
    HEAPTAPE_RETURN_IF_ERROR(statuses[i]);
    parts[i].sum_up(merged, check);
  }
  return check;
}

}  // namespace heaptape::cli
