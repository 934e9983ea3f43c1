#include "cli/tape_reading.h"

#include "base/number_text.h"
#include "cli/wrong_file.h"

namespace heaptape::cli {

namespace {

// " (2 because the recorder fell behind, 1 without a ring buffer)", or nothing.
std::string causes_text(const schema::LossCauses& causes) {
  std::string text;
  const auto add = [&text](uint64_t calls, const char* cause) {
    if (calls == 0) return;
    text += (text.empty() ? " (" : ", ") + base::grouped(calls) + " " + cause;
  };
  add(causes.ring_full, "because the recorder fell behind");
  add(causes.recorder_stopped, "because the recorder stopped");
  add(causes.no_ring, "without a ring buffer");
  add(causes.left_hooks, "in or after signal handlers that interrupted malloc");
  add(causes.malformed, "malformed in the imported trace");
  add(causes.unknown_frees, "frees of unknown blocks");
  add(causes.double_frees, "double frees");
  return text.empty() ? text : text + ")";
}

}  // namespace

base::Result<schema::TapeReader> open_tape(const std::string& path, schema::OnDamage on_damage,
                                           Console& console) {
  auto tape = schema::TapeReader::open(path, on_damage);
  if (!tape.ok()) return not_a_tape(tape.error(), path);
  if (!tape->finished()) {
    console.print_error("'" + path + "' was not finished: it holds the first " +
                        base::counted(tape->events(), "event"));
  }
  if (!tape->inherited_problem().empty()) console.print_note(tape->inherited_problem());
  return tape;
}

base::Status check_range(uint64_t from, uint64_t to, const schema::TapeReader& tape) {
  if (from > to) {
    return base::Error::usage("--from " + base::grouped(from) + " is after --to " +
                              base::grouped(to) + ": give the lower number as --from");
  }
  if (from > 1 && from > tape.events()) {
    return base::Error::usage("--from " + base::grouped(from) + " is after the last call, #" +
                              base::grouped(tape.events()));
  }
  return {};
}

std::string losses_text(const schema::TapeSummary& summary) {
  const schema::TapeLosses& losses = summary.losses;
  const std::string inner = schema::inner_calls_text(summary.inner_allocators);
  const std::string unseen = inner.empty() ? "" : "; not seen: " + inner;
  if (!losses.any()) return "none" + unseen;
  return base::counted(losses.lost_events, "call") + " not recorded" + causes_text(losses.causes) +
         ", " + base::counted(losses.unrepaired_inversions, "block") + " handed out while alive, " +
         (losses.lost_ranges == 1 ? "1 damaged stretch"
                                  : base::grouped(losses.lost_ranges) + " damaged stretches") +
         " omitted" + unseen;
}

std::string unseen_frees_text(const schema::TapeSummary& summary) {
  return base::counted(summary.unknown_frees, "call") +
         (summary.unknown_frees == 1 ? " frees or resizes a block" : " free or resize blocks") +
         " from before";
}

std::string first_damage_text(const schema::TapeReader& tape) {
  const schema::Damage& first = tape.damages().front();
  return "'" + tape.path() + "' is damaged at byte " + std::to_string(first.offset) + ": " +
         first.reason;
}

std::string losses_line(const schema::TapeReader& tape) {
  const auto summary = tape.summary().value_or(schema::TapeSummary());
  const schema::TapeLosses& losses = summary.losses;
  std::string text =
      "losses: " + base::counted(losses.lost_events, "call") + " lost while recording";
  if (losses.unrepaired_inversions != 0) {
    text += ", " + base::counted(losses.unrepaired_inversions, "block") + " handed out while alive";
  }
  if (losses.lost_ranges != 0) {
    text += ", " + base::grouped(losses.lost_ranges) +
            (losses.lost_ranges == 1 ? " damaged stretch" : " damaged stretches");
  }
  const std::string inner = schema::inner_calls_text(summary.inner_allocators);
  if (!inner.empty()) text += "; not seen: " + inner;
  return text + "\n";
}

}  // namespace heaptape::cli
