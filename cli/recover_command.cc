#include "cli/commands.h"

#include <algorithm>
#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/console.h"
#include "cli/tape_reading.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::cli {
namespace {

using schema::EventBatch;
using schema::TapeReader;
using schema::TapeSummary;

// Returns the time of the last event of which it is known, 0 if of none.
uint64_t copy(const EventBatch& batch, schema::TapeWriter& writer) {
  uint64_t last_time_ns = 0;
  auto sample = batch.samples.begin();
  auto time = batch.times.begin();
  const auto copy_up_to = [&](uint64_t event) {
    for (; sample != batch.samples.end() && sample->event <= event; ++sample) {
      writer.add_sample(*sample);
    }
    for (; time != batch.times.end() && time->event <= event; ++time) {
      writer.add_time(last_time_ns = time->time_ns);
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    copy_up_to(batch.first_event + i);
    writer.append(batch.events[i]);
  }
  copy_up_to(UINT64_MAX);
  return last_time_ns;
}

}  // namespace

int run_recover(const std::string& path, const std::string& output, std::ostream& out,
                std::ostream& err) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return complain(err, tape.error());
  if (base::same_file(path, output)) {
    return complain(err, "'" + output + "' is the damaged tape itself: write to another file");
  }
  auto writer = schema::TapeWriter::create(output, tape->header());
  if (!writer.ok()) return complain(err, writer.error());
  uint64_t last_time_ns = 0;
  const auto status = for_each_batch(*tape, [&](const EventBatch& batch) {
    last_time_ns = std::max(last_time_ns, copy(batch, **writer));
  });
  if (!status.ok()) return complain(err, status.error());
  TapeSummary unfinished;
  unfinished.duration_ns = last_time_ns;
  TapeSummary summary = tape->summary().value_or(unfinished);
  const TapeSummary fresh;
  summary.events = summary.allocations = summary.frees = summary.reallocations = fresh.events;
  summary.failed = summary.threads = fresh.failed;
  summary.end_reason = schema::EndReason::kRecovered;
  summary.losses.lost_ranges += tape->damages().size();
  for (const auto& damage : tape->damages()) summary.losses.lost_events += damage.lost_events;
  const auto written = (*writer)->finish(summary);
  if (!written.ok()) return complain(err, written.error());
  out << base::display_text(output) << ": " << base::grouped(written->events)
      << " events recovered, " << base::grouped(tape->damages().size())
      << " damaged stretches left out\n";
  return finish(out, err, kExitDone);
}

}  // namespace heaptape::cli
