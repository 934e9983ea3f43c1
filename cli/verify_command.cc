#include "cli/commands.h"

#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_reading.h"

namespace heaptape::cli {
namespace {

using schema::EventBatch;
using schema::TapeReader;

void print_damage(const schema::Damage& damage, std::ostream& out) {
  out << "damage     at byte " << damage.offset;
  if (damage.bytes != 0) out << ", " << base::grouped(damage.bytes) << " bytes";
  out << ": " << damage.reason;
  if (damage.lost_events != 0)
    out << "; " << base::grouped(damage.lost_events) << " events are lost";
  out << "\n";
}

}  // namespace

int run_verify(const std::string& path, Console& console) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) {
    console.print_error(tape.error().message);
    return tape.error().code == base::ErrorCode::kDamaged ? kExitFailed : kExitUnusable;
  }
  uint64_t events = 0;
  Progress progress(console, "verifying");
  const auto status = for_each_batch(*tape, [&](const EventBatch& batch) {
    events += batch.events.size();
    progress.show(static_cast<double>(events) / static_cast<double>(tape->events()));
  });
  if (!status.ok()) return console.fail(status.error());
  std::ostream& out = console.out();
  for (const schema::Damage& damage : tape->damages()) print_damage(damage, out);
  if (!tape->finished()) {
    print_damage({*tape->cut_at(), 0, 0, "its end is missing, so the recording was cut short"},
                 out);
  }
  bool sound = tape->damages().empty() && tape->finished();
  if (tape->summary() && sound && tape->summary()->events != events) {
    out << "damage     its summary counts " << base::grouped(tape->summary()->events)
        << " events\n";
    sound = false;
  }
  if (tape->summary() && tape->summary()->losses.any()) {
    out << "losses     " << losses_text(tape->summary()->losses) << "\n";
    sound = false;
  }
  out << base::display_text(path) << ": " << base::grouped(events) << " events can be read; "
      << (sound ? "no damage, no losses" : "NOT SOUND") << "\n";
  return console.finish(sound ? kExitDone : kExitFailed);
}

}  // namespace heaptape::cli
