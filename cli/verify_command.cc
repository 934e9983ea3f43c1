#include "cli/commands.h"

#include <ostream>
#include <thread>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_check.h"
#include "cli/tape_reading.h"
#include "cli/wrong_file.h"

namespace heaptape::cli {
namespace {

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

// False if there is something to print.
bool print_wrong_calls(const TapeCheck& check, bool is_whole, std::ostream& out) {
  if (check.calls_after_end != 0) {
    out << "damage     " << base::counted(check.calls_after_end, "call")
        << " of threads that had ended, the first #" << base::grouped(check.first_after_end)
        << "\n";
  }
  const bool has_wrong_keyframe = is_whole && check.wrong_keyframe;
  if (has_wrong_keyframe) {
    out << "damage     the keyframe after " << base::counted(*check.wrong_keyframe, "call")
        << " is not what these calls left\n";
  }
  return check.calls_after_end == 0 && !has_wrong_keyframe;
}

// No loss: nobody wanted what came before.
void print_late_start(const schema::TapeSummary& summary, std::ostream& out) {
  if (summary.late_ns == 0) return;
  out << "late       the recording began "
      << base::duration_text(static_cast<double>(summary.late_ns)) << " after the process; "
      << unseen_frees_text(summary) << "\n";
}

}  // namespace

int run_verify(const std::string& path, Console& console) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip, schema::Inherited::kLeaveOut);
  if (!tape.ok()) {
    console.print_error(not_a_tape(tape.error(), path).message);
    return tape.error().code == base::ErrorCode::kDamaged ? kExitFailed : kExitUnusable;
  }
  Progress progress(console, "verifying");
  const auto check = check_tape(*tape, std::thread::hardware_concurrency(),
                                [&progress](double share) { progress.show(share); });
  if (!check.ok()) return console.fail(check.error());
  std::ostream& out = console.out();
  for (const schema::Damage& damage : check->damages) print_damage(damage, out);
  if (!tape->finished()) {
    print_damage({*tape->cut_at(), 0, 0, "its end is missing, so the recording was cut short"},
                 out);
  }
  const bool is_whole = check->damages.empty() && tape->finished();
  bool sound = is_whole;
  if (tape->summary() && sound && tape->summary()->events != check->events) {
    out << "damage     its summary counts " << base::counted(tape->summary()->events, "event")
        << "\n";
    sound = false;
  }
  sound = print_wrong_calls(*check, is_whole, out) && sound;
  if (tape->summary()) {
    const bool has_losses = tape->summary()->losses.any();
    if (has_losses || !tape->summary()->inner_allocators.empty()) {
      out << "losses     " << losses_text(*tape->summary()) << "\n";
    }
    sound = sound && !has_losses;
    print_late_start(*tape->summary(), out);
  }
  out << base::display_text(path) << ": " << base::counted(check->events, "event")
      << " can be read; "
      << (sound      ? "no damage, no losses"
          : is_whole ? "NOT SOUND"
                     : "NOT SOUND: `heaptape recover` saves these events")
      << "\n";
  return console.finish(sound ? kExitDone : kExitFailed);
}

}  // namespace heaptape::cli
