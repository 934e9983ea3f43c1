#include "cli/commands.h"

#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_copy.h"
#include "cli/tape_reading.h"
#include "cli/wrong_file.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::cli {
namespace {

using base::Result;
using schema::EventBatch;
using schema::TapeReader;
using schema::TapeSummary;

// Counts missing stretches: an unfinished tape lacks its end.
uint64_t lost_ranges(const TapeReader& tape) {
  return tape.damages().size() + (tape.finished() ? 0 : 1);
}

// The damaged tape's summary, with the damage added to its losses. The writer's own counts stay 0.
TapeSummary recovered_summary(const TapeReader& tape, uint64_t last_time_ns) {
  TapeSummary unfinished;
  unfinished.duration_ns = last_time_ns;
  TapeSummary summary = tape.summary().value_or(unfinished);
  summary.events = summary.allocations = summary.frees = summary.reallocations = 0;
  summary.failed = summary.threads = 0;
  summary.end_reason = schema::EndReason::kRecovered;
  summary.losses.lost_ranges += lost_ranges(tape);
  for (const auto& damage : tape.damages()) summary.losses.lost_events += damage.lost_events;
  return summary;
}

Result<TapeSummary> recover(TapeReader& tape, const std::string& output) {
  if (base::same_file(tape.path(), output)) {
    return base::Error::usage("'" + output + "' is the damaged tape itself: write to another file");
  }
  // A separate pass, which must not count the damage twice.
  HEAPTAPE_ASSIGN_OR_RETURN(TapeReader other,
                            TapeReader::open(tape.path(), TapeReader::OnDamage::kSkip));
  HEAPTAPE_ASSIGN_OR_RETURN(const schema::Stacks stacks, other.read_stacks());
  HEAPTAPE_ASSIGN_OR_RETURN(auto writer, schema::TapeWriter::create(output, tape.header()));
  TapeCopy copy(stacks, *writer);
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, [&](const EventBatch& batch) { copy.add(batch); }));
  HEAPTAPE_RETURN_IF_ERROR(copy.finish());
  return writer->finish(recovered_summary(tape, copy.last_time_ns()));
}

}  // namespace

int run_recover(const RecoverOptions& options, Console& console) {
  tell_file_size_limit();
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return console.fail(not_a_tape(tape.error(), options.path));
  const Result<TapeSummary> written = recover(*tape, options.output);
  if (!written.ok()) return console.fail(written.error());
  console.out() << base::display_text(options.output) << ": "
                << base::counted(written->events, "event") << " recovered, "
                << base::grouped(lost_ranges(*tape))
                << (lost_ranges(*tape) == 1 ? " damaged stretch" : " damaged stretches")
                << " omitted\n";
  return console.finish();
}

}  // namespace heaptape::cli
