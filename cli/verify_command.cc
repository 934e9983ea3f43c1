#include "cli/commands.h"

#include <ostream>
#include <unordered_set>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_reading.h"
#include "cli/wrong_file.h"

namespace heaptape::cli {
namespace {

using schema::EventBatch;
using schema::TapeReader;

void print_damage(const schema::Damage& damage, std::ostream& out) {
  out << "damage     at byte " << damage.offset;
  if (damage.bytes != 0) out << ", " << base::counted(damage.bytes, "byte");
  out << ": " << damage.reason;
  if (damage.lost_events != 0)
    out << "; " << base::counted(damage.lost_events, "event")
        << (damage.lost_events == 1 ? " is lost" : " are lost");
  out << "\n";
}

// Calls of threads that had already ended.
class CallsAfterEnd {
 public:
  void add(const EventBatch& batch) {
    auto end = batch.thread_ends.begin();
    for (size_t i = 0; i < batch.events.size(); ++i) {
      const uint64_t event = batch.first_event + i;
      for (; end != batch.thread_ends.end() && end->event <= event; ++end) note_end(end->thread);
      const uint32_t thread = batch.events[i].thread;
      if (thread == lives_) [[likely]]
        continue;
      if (!ended_.contains(thread)) {
        lives_ = thread;
      } else if (count_++ == 0) {
        first_ = event + 1;
      }
    }
    for (; end != batch.thread_ends.end(); ++end) note_end(end->thread);
  }
  // True if there are none.
  bool print(std::ostream& out) const {
    if (count_ == 0) return true;
    out << "damage     " << base::counted(count_, "call")
        << " of threads that had ended, the first #" << base::grouped(first_) << "\n";
    return false;
  }

 private:
  static constexpr uint64_t kNobody = UINT64_MAX;

  void note_end(uint32_t thread) {
    ended_.insert(thread);
    if (lives_ == thread) lives_ = kNobody;
  }

  std::unordered_set<uint32_t> ended_;
  uint64_t lives_ = kNobody;  // the thread of the last call, unless it has ended since
  uint64_t count_ = 0;
  uint64_t first_ = 0;
};

// Whether each keyframe is the heap that the calls before it left.
class KeyframeCheck {
 public:
  explicit KeyframeCheck(TapeReader& tape) : tape_(tape), calls_(tape.keyframes()) {}

  base::Status add(const EventBatch& batch) {
    for (size_t i = 0; i < batch.events.size() && next_ < calls_.size(); ++i) {
      table_.note(batch.events[i], batch.stacks.empty() ? 0 : batch.stacks[i]);
      if (calls_[next_] == batch.first_event + i + 1) HEAPTAPE_RETURN_IF_ERROR(compare());
    }
    return {};
  }
  // True if all are. After the last batch of a tape without damage.
  bool print(std::ostream& out) const {
    if (next_ == calls_.size() && wrong_.empty()) return true;
    const uint64_t call = wrong_.empty() ? calls_[next_] : wrong_.front();
    out << "damage     the keyframe after " << base::counted(call, "call")
        << " is not what these calls left\n";
    return false;
  }

 private:
  base::Status compare() {
    const uint64_t call = calls_[next_++];
    HEAPTAPE_ASSIGN_OR_RETURN(const auto kept, tape_.read_keyframe(call));
    const schema::Keyframe right = table_.keyframe();
    const bool is_right = kept && kept->event == call && table_.events() == call &&
                          kept->blocks == right.blocks && kept->births == right.births &&
                          (kept->stacks.empty() || kept->stacks == right.stacks);
    if (!is_right) wrong_.push_back(call);
    return {};
  }

  TapeReader& tape_;
  const std::vector<uint64_t> calls_;
  size_t next_ = 0;  // in calls_
  schema::KeyframeTable table_;
  std::vector<uint64_t> wrong_;
};

// No loss: nobody wanted what came before.
void print_late_start(const schema::TapeSummary& summary, std::ostream& out) {
  if (summary.late_ns == 0) return;
  out << "late       the recording began "
      << base::duration_text(static_cast<double>(summary.late_ns)) << " after the process; "
      << base::counted(summary.unknown_frees, "call")
      << (summary.unknown_frees == 1 ? " frees or resizes a block" : " free or resize blocks")
      << " from before\n";
}

}  // namespace

int run_verify(const std::string& path, Console& console) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip, schema::Inherited::kLeaveOut);
  if (!tape.ok()) {
    console.print_error(not_a_tape(tape.error(), path).message);
    return tape.error().code == base::ErrorCode::kDamaged ? kExitFailed : kExitUnusable;
  }
  uint64_t events = 0;
  CallsAfterEnd calls_after_end;
  KeyframeCheck keyframes(*tape);
  base::Status compared;
  Progress progress(console, "verifying");
  const auto status = for_each_batch(*tape, [&](const EventBatch& batch) {
    events += batch.events.size();
    calls_after_end.add(batch);
    if (compared.ok()) compared = keyframes.add(batch);
    progress.show(static_cast<double>(events) / static_cast<double>(tape->events()));
  });
  if (!status.ok()) return console.fail(status.error());
  if (!compared.ok()) return console.fail(compared.error());
  std::ostream& out = console.out();
  for (const schema::Damage& damage : tape->damages()) print_damage(damage, out);
  if (!tape->finished()) {
    print_damage({*tape->cut_at(), 0, 0, "its end is missing, so the recording was cut short"},
                 out);
  }
  const bool is_whole = tape->damages().empty() && tape->finished();
  bool sound = is_whole;
  if (tape->summary() && sound && tape->summary()->events != events) {
    out << "damage     its summary counts " << base::counted(tape->summary()->events, "event")
        << "\n";
    sound = false;
  }
  sound = calls_after_end.print(out) && sound;
  if (is_whole) sound = keyframes.print(out) && sound;
  if (tape->summary()) {
    const bool has_losses = tape->summary()->losses.any();
    if (has_losses || !tape->summary()->inner_allocators.empty()) {
      out << "losses     " << losses_text(*tape->summary()) << "\n";
    }
    sound = sound && !has_losses;
    print_late_start(*tape->summary(), out);
  }
  out << base::display_text(path) << ": " << base::counted(events, "event") << " can be read; "
      << (sound      ? "no damage, no losses"
          : is_whole ? "NOT SOUND"
                     : "NOT SOUND: `heaptape recover` saves these events")
      << "\n";
  return console.finish(sound ? kExitDone : kExitFailed);
}

}  // namespace heaptape::cli
