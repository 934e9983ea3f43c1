#include "cli/commands.h"

#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_copy.h"
#include "cli/wrong_file.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Result;
using schema::TapeReader;
using schema::TapeSummary;

// Counts missing stretches: an unfinished tape lacks its end.
uint64_t lost_ranges(const TapeReader& tape) {
  return tape.damages().size() + (tape.finished() ? 0 : 1);
}

// The damaged tape's summary, with the damage added to its losses.
TapeSummary recovered_summary(const TapeReader& tape, uint64_t last_time_ns) {
  TapeSummary summary = summary_to_count(tape);
  if (!tape.summary()) summary.duration_ns = last_time_ns;
  summary.end_reason = schema::EndReason::kRecovered;
  summary.losses.lost_ranges += lost_ranges(tape);
  for (const auto& damage : tape.damages()) summary.losses.lost_events += damage.lost_events;
  return summary;
}

}  // namespace

int run_recover(const RecoverOptions& options, Console& console) {
  tell_file_size_limit();
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return console.fail(not_a_tape(tape.error(), options.path));
  const Result<TapeSummary> written = copy_whole(
      *tape, options.output,
      [&tape](const TapeCopy& copy) { return recovered_summary(*tape, copy.last_time_ns()); });
  if (!written.ok()) return console.fail(written.error());
  console.out() << base::display_text(options.output) << ": "
                << base::counted(written->events, "event") << " recovered, "
                << base::grouped(lost_ranges(*tape))
                << (lost_ranges(*tape) == 1 ? " damaged stretch" : " damaged stretches")
                << " omitted\n";
  return console.finish();
}

}  // namespace heaptape::cli
