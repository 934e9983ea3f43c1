#include "replayer/commands/tape_commands.h"

#include <algorithm>
#include <ctime>
#include <ostream>
#include <vector>

#include "replayer/commands/command_io.h"
#include "replayer/report/number_text.h"
#include "replayer/report/report_builder.h"
#include "schema/display_text.h"
#include "schema/tape_reader.h"
#include "schema/tape_writer.h"

namespace heaptape::replayer {
namespace {

using schema::EventBatch;
using schema::Result;
using schema::TapeReader;
using schema::TapeSummary;

constexpr size_t kBatchEvents = 4096;

std::string utc_text(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

std::string end_text(const TapeSummary& summary) {
  std::string text = schema::describe(summary.end_reason);
  if (summary.end_reason == schema::EndReason::kSignalled) {
    text += " " + std::to_string(summary.end_status);
  } else if (summary.end_reason == schema::EndReason::kExited && summary.end_status >= 0) {
    text += " with status " + std::to_string(summary.end_status);
  }
  return text;
}

std::string losses_text(const TapeSummary& summary) {
  if (!summary.losses.any()) return "none";
  return grouped(summary.losses.lost_events) + " calls not recorded, " +
         grouped(summary.losses.unrepaired_inversions) + " blocks handed out while alive, " +
         grouped(summary.losses.lost_ranges) + " damaged stretches left out";
}

std::string per_event_text(const TapeReader& tape) {
  if (tape.events() == 0) return "";
  char text[64];
  snprintf(text, sizeof text, ", %.3f bytes an event",
           static_cast<double>(tape.file_bytes()) / static_cast<double>(tape.events()));
  return text;
}

// A tape that no program left, a scenario's, has neither process nor date.
void print_origin(const schema::TapeHeader& header, std::ostream& out) {
  const std::string writer = schema::display_text(header.writer);
  if (header.pid == 0 && header.executable.empty() && header.start_unix_ns == 0) {
    out << "program    none: " << schema::display_text(header.allocator) << ", written by "
        << writer << "\n";
    return;
  }
  out << "program    " << schema::display_text(header.executable) << ", process " << header.pid
      << ", child of " << header.parent_pid << "\n"
      << "allocator  " << schema::display_text(header.allocator) << "\n"
      << "recorded   " << utc_text(header.start_unix_ns) << " by " << writer << "\n";
}

void print_header(const TapeReader& tape, std::ostream& out) {
  const schema::TapeHeader& header = tape.header();
  out << "tape       " << schema::display_text(tape.path()) << ", " << bytes_text(tape.file_bytes())
      << per_event_text(tape) << "\n"
      << "command    " << command_text(header.command_line) << "\n";
  print_origin(header, out);
}

void print_summary(const TapeSummary& summary, std::ostream& out) {
  out << "events     " << grouped(summary.events) << " = " << grouped(summary.allocations)
      << " allocations + " << grouped(summary.frees) << " frees + "
      << grouped(summary.reallocations) << " reallocations; " << grouped(summary.failed)
      << " failed\n"
      << "threads    " << grouped(summary.threads) << "\n"
      << "ran        " << duration_text(static_cast<double>(summary.duration_ns)) << ", "
      << end_text(summary) << "\n"
      << "losses     " << losses_text(summary) << "\n"
      << "recorder   " << grouped(summary.stalls) << " stalls ("
      << duration_text(static_cast<double>(summary.stall_ns)) << "), "
      << grouped(summary.repaired_inversions) << " repaired inversions, "
      << grouped(summary.unknown_frees) << " frees of unknown blocks, "
      << grouped(summary.nested_calls) << " nested and " << grouped(summary.bootstrap_calls)
      << " bootstrap calls\n";
}

void print_damage(const schema::Damage& damage, std::ostream& out) {
  out << "damage     at byte " << damage.offset;
  if (damage.bytes != 0) out << ", " << grouped(damage.bytes) << " bytes";
  out << ": " << damage.reason;
  if (damage.lost_events != 0) out << "; " << grouped(damage.lost_events) << " events are lost";
  out << "\n";
}

// Calls visit(batch) for everything that can be read from the reader's position on.
template <typename Visit>
schema::Status for_each_batch(TapeReader& tape, Visit visit) {
  EventBatch batch;
  for (;;) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    if (batch.events.empty() && batch.samples.empty()) return {};
    visit(batch);
    if (batch.events.empty()) return {};
  }
}

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

int run_info(const std::string& path, std::ostream& out, std::ostream& err) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return complain(err, tape.error());
  print_header(*tape, out);
  if (tape->summary()) {
    print_summary(*tape->summary(), out);
  } else {
    out << "events     " << grouped(tape->events()) << " in whole chunks; the end is missing\n";
  }
  if (tape->damages().empty()) return finish(out, err, kExitDone);
  const schema::Damage& first = tape->damages().front();
  return complain(err,
                  "'" + path + "' is damaged at byte " + std::to_string(first.offset) + ": " +
                      first.reason +
                      "; `heaptape verify` lists the damage, `heaptape recover` keeps the rest");
}

int run_verify(const std::string& path, std::ostream& out, std::ostream& err) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) {
    complain(err, tape.error());
    return tape.error().code == schema::ErrorCode::kDamaged ? kExitFailed : kExitUnusable;
  }
  uint64_t events = 0;
  Progress progress("verifying");
  const auto status = for_each_batch(*tape, [&](const EventBatch& batch) {
    events += batch.events.size();
    progress.show(static_cast<double>(events) / static_cast<double>(tape->events()));
  });
  if (!status.ok()) return complain(err, status.error());
  for (const schema::Damage& damage : tape->damages()) print_damage(damage, out);
  bool sound = tape->damages().empty();
  if (tape->summary() && sound && tape->summary()->events != events) {
    out << "damage     its summary counts " << grouped(tape->summary()->events) << " events\n";
    sound = false;
  }
  if (tape->summary() && tape->summary()->losses.any()) {
    out << "losses     " << losses_text(*tape->summary()) << "\n";
    sound = false;
  }
  out << schema::display_text(path) << ": " << grouped(events) << " events can be read; "
      << (sound ? "no damage, no losses" : "NOT SOUND") << "\n";
  return finish(out, err, sound ? kExitDone : kExitFailed);
}

int run_recover(const std::string& path, const std::string& output, std::ostream& out,
                std::ostream& err) {
  auto tape = TapeReader::open(path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return complain(err, tape.error());
  if (schema::same_file(path, output)) {
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
  out << schema::display_text(output) << ": " << grouped(written->events) << " events recovered, "
      << grouped(tape->damages().size()) << " damaged stretches left out\n";
  return finish(out, err, kExitDone);
}

int run_dump(const DumpOptions& options, std::ostream& out, std::ostream& err) {
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return complain(err, tape.error());
  const uint64_t from = options.from == 0 ? 0 : options.from - 1;
  if (from < tape->events()) {
    if (const auto status = tape->seek(from); !status.ok()) return complain(err, status.error());
    EventBatch batch;
    std::string text;
    bool more = true;
    while (more && out) {
      if (const auto status = tape->read(batch, kBatchEvents); !status.ok()) {
        return complain(err, status.error());
      }
      text.clear();
      more = !batch.events.empty();
      for (size_t i = 0; i < batch.events.size(); ++i) {
        const uint64_t number = batch.first_event + i + 1;
        if (number > options.to) more = false;
        if (number <= from || number > options.to) continue;
        schema::append_event(text, options.format, number, batch.events[i]);
      }
      out << text;
    }
  }
  if (tape->damages().empty()) return finish(out, err, kExitDone);
  const schema::Damage& first = tape->damages().front();
  return complain(err, "'" + options.path + "' is damaged at byte " + std::to_string(first.offset) +
                           ": " + first.reason + "; the events there are left out");
}

}  // namespace heaptape::replayer
