#include "cli/commands.h"

#include <algorithm>
#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/tape_reading.h"
#include "cli/wrong_file.h"
#include "schema/tape/stack_copier.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::cli {
namespace {

using base::Result;
using schema::EventBatch;
using schema::TapeReader;
using schema::TapeSummary;

// Returns the time of the last event that has one, 0 if none has.
uint64_t copy(const EventBatch& batch, schema::StackCopier& stacks, schema::TapeWriter& writer) {
  uint64_t last_time_ns = 0;
  auto sample = batch.samples.begin();
  auto time = batch.times.begin();
  auto end = batch.thread_ends.begin();
  auto mark = batch.marks.begin();
  const auto copy_up_to = [&](uint64_t event) {
    for (; sample != batch.samples.end() && sample->event <= event; ++sample) {
      writer.add_sample(*sample);
    }
    for (; time != batch.times.end() && time->event <= event; ++time) {
      writer.add_time(last_time_ns = time->time_ns);
    }
    for (; end != batch.thread_ends.end() && end->event <= event; ++end) {
      writer.add_end(end->thread);
    }
    for (; mark != batch.marks.end() && mark->event <= event; ++mark) {
      writer.add_mark(mark->name, mark->time_ns);
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    copy_up_to(batch.first_event + i);
    writer.append(batch.events[i], batch.stacks.empty() ? 0 : stacks.copy(batch.stacks[i]));
  }
  copy_up_to(UINT64_MAX);
  return last_time_ns;
}

// Stretches that are missing: a tape that was not finished lacks its end.
uint64_t lost_ranges(const TapeReader& tape) {
  return tape.damages().size() + (tape.finished() ? 0 : 1);
}

// That of the damaged tape, with the damage among its losses. What the writer counts is left at 0.
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
  // In a pass of its own, which must not count the damage twice.
  HEAPTAPE_ASSIGN_OR_RETURN(TapeReader other,
                            TapeReader::open(tape.path(), TapeReader::OnDamage::kSkip));
  HEAPTAPE_ASSIGN_OR_RETURN(const schema::Stacks stacks, other.read_stacks());
  HEAPTAPE_ASSIGN_OR_RETURN(auto writer, schema::TapeWriter::create(output, tape.header()));
  schema::StackCopier copier(stacks, writer->encoder());
  uint64_t last_time_ns = 0;
  HEAPTAPE_RETURN_IF_ERROR(for_each_batch(tape, [&](const EventBatch& batch) {
    last_time_ns = std::max(last_time_ns, copy(batch, copier, *writer));
  }));
  copier.finish();
  writer->flush();
  // finish() accepts a tape that a full disk has cut short; here it would lose what could be read.
  HEAPTAPE_RETURN_IF_ERROR(writer->status());
  return writer->finish(recovered_summary(tape, last_time_ns));
}

}  // namespace

int run_recover(const RecoverOptions& options, Console& console) {
  tell_file_size_limit();
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return console.fail(not_a_tape(tape.error(), options.path));
  const Result<TapeSummary> written = recover(*tape, options.output);
  if (!written.ok()) return console.fail(written.error());
  console.out() << base::display_text(options.output) << ": " << base::grouped(written->events)
                << " events recovered, " << base::grouped(lost_ranges(*tape))
                << (lost_ranges(*tape) == 1 ? " damaged stretch" : " damaged stretches")
                << " left out\n";
  return console.finish();
}

}  // namespace heaptape::cli
