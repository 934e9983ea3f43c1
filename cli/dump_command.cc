#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/number_text.h"
#include "cli/commands.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/engine/event_clock.h"
#include "replayer/sites/frame_text.h"
#include "replayer/sites/shown_places.h"
#include "schema/tape/tape_text.h"

namespace heaptape::cli {
namespace {

using base::Status;
using schema::EventBatch;
using schema::TapeReader;

// There is a time sample within this many calls before the first printed one: the recorder takes
// one every 512 calls.
constexpr uint64_t kTimeLead = 4096;

// Computes when each call was made, as EventClock does, from a tape fed batch by batch.
class CallTimes {
 public:
  // The calls of `batch` come next, in order.
  void begin(const EventBatch& batch) {
    times_.erase(times_.begin(), times_.begin() + static_cast<ptrdiff_t>(next_));
    next_ = 0;
    times_.insert(times_.end(), batch.times.begin(), batch.times.end());
    behind_ = batch.next_time;
  }
  std::optional<uint64_t> at(uint64_t event) {
    // The first of two samples at one call counts: a pause follows it.
    while (next_ < times_.size() && times_[next_].event < event) before_ = times_[next_++];
    if (!before_) return std::nullopt;
    replayer::EventClock clock;
    clock.note({&*before_, 1}, next_ < times_.size() ? std::optional(times_[next_]) : behind_);
    return clock.at(event);
  }

 private:
  std::optional<schema::TimeSample> before_;  // the last one before the call
  std::vector<schema::TimeSample> times_;     // those of this batch and the rest of the last one
  size_t next_ = 0;                           // in times_: the first at or after the call
  std::optional<schema::TimeSample> behind_;  // the first one after the batch
};

// The stacks of calls that `heaptape dump --stacks` prints.
class StackDump {
 public:
  explicit StackDump(TapeStacks stacks)
      : stacks_(std::move(stacks)), is_known_(stacks_.stacks.limit(), false) {}

  // Appends the frames of a stack on its first call for that stack. A damaged tape may have lost
  // frames of a stack.
  void append_once(std::string& text, schema::TextFormat format, schema::FrameNumber stack) {
    if (stack >= is_known_.size() || is_known_[stack]) return;
    is_known_[stack] = true;
    schema::append_stack(text, format, stack, frames_of(stack));
  }

 private:
  std::vector<std::string> frames_of(schema::FrameNumber stack) const {
    std::vector<std::string> texts;
    for (const schema::Frame* frame; (frame = stacks_.stacks.find(stack)) != nullptr;
         stack = frame->caller) {
      const replayer::CodePlace& place = stacks_.symbols.find(stack);
      for (const replayer::SourceFrame& source : place.source) {
        texts.push_back(replayer::frame_text(place, &source));
      }
      if (place.source.empty()) texts.push_back(replayer::frame_text(place, nullptr));
      if (texts.size() >= replayer::kMostShownFrames) break;
    }
    return texts;
  }

  TapeStacks stacks_;
  std::vector<bool> is_known_;  // by stack number
};

// State of one dump, except the batch.
struct DumpState {
  CallTimes times;
  std::optional<StackDump> stacks;  // nothing without --stacks
};

// Appends the requested calls of the batch. Returns false after the last requested call.
bool append_batch(std::string& text, const EventBatch& batch, const DumpOptions& options,
                  DumpState& state) {
  if (options.with_times) state.times.begin(batch);
  auto end = batch.thread_ends.begin();
  auto steering = batch.steering.begin();
  auto mapped = batch.mapped.begin();
  auto mark = batch.marks.begin();
  const auto append_between = [&](uint64_t event) {
    for (; end != batch.thread_ends.end() && end->event <= event; ++end) {
      if (end->event >= options.from && end->event <= options.to) {
        schema::append_end(text, options.format, *end);
      }
    }
    for (; steering != batch.steering.end() && steering->event <= event; ++steering) {
      // It comes before the next call.
      if (steering->event + 1 >= options.from && steering->event <= options.to) {
        schema::append_steering(text, options.format, *steering);
      }
    }
    for (; mapped != batch.mapped.end() && mapped->event <= event; ++mapped) {
      if (mapped->event + 1 >= options.from && mapped->event <= options.to) {
        schema::MappingCall call = *mapped;
        if (!state.stacks) call.stack = 0;
        schema::append_mapping_call(text, options.format, call);
        if (call.stack != 0) state.stacks->append_once(text, options.format, call.stack);
      }
    }
    for (; mark != batch.marks.end() && mark->event <= event; ++mark) {
      if (mark->event >= options.from && mark->event <= options.to) {
        schema::append_mark(text, options.format, *mark);
      }
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    const uint64_t number = batch.first_event + i + 1;
    append_between(number - 1);
    if (number > options.to) return false;
    const auto time_ns = options.with_times ? state.times.at(number) : std::nullopt;
    if (number < options.from) continue;
    const schema::FrameNumber stack =
        state.stacks && !batch.stacks.empty() ? batch.stacks[i] : schema::FrameNumber{0};
    schema::append_event(text, options.format, number, batch.events[i], time_ns, stack);
    if (stack != 0) state.stacks->append_once(text, options.format, stack);
  }
  append_between(UINT64_MAX);
  return !batch.events.empty();
}

Status dump(TapeReader& tape, const DumpOptions& options, Console& console) {
  const uint64_t before = options.from == 0 ? 0 : options.from - 1;
  if (before != 0 && before >= tape.events()) return {};
  if (options.with_times && tape.header().origin.lacks(schema::Absent::kTimes)) {
    return base::Error::usage("times are not in this trace: omit --times");
  }
  DumpState state;
  if (options.with_stacks) {
    HEAPTAPE_ASSIGN_OR_RETURN(TapeStacks stacks, read_tape_stacks(tape, options.symbols, console));
    state.stacks.emplace(std::move(stacks));
  }
  // Whatever stands between the call before and the first one comes with the call before.
  const uint64_t lead = std::min(before, options.with_times ? kTimeLead : 1);
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(before - lead));
  EventBatch batch;
  std::string text;
  std::ostream& out = console.out();
  for (bool more = true; more && out;) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    text.clear();
    more = append_batch(text, batch, options, state);
    out << text;
  }
  return {};
}

}  // namespace

int run_dump(const DumpOptions& options, Console& console) {
  if (options.from > options.to) {
    return console.fail("--from " + base::grouped(options.from) + " is after --to " +
                        base::grouped(options.to) + ": give the lower number as --from");
  }
  auto tape = open_tape(options.path, schema::OnDamage::kSkip, console);
  if (!tape.ok()) return console.fail(tape.error());
  const Status status = dump(*tape, options, console);
  if (!status.ok()) return console.fail(status.error());
  if (tape->damages().empty()) return console.finish();
  return console.fail(first_damage_text(*tape) +
                      "; its events are omitted, `heaptape verify` lists all damage");
}

}  // namespace heaptape::cli
