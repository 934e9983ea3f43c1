#include "cli/commands.h"

#include <ostream>

#include "base/number_text.h"
#include "cli/tape_reading.h"

namespace heaptape::cli {
namespace {

using base::Status;
using schema::EventBatch;
using schema::TapeReader;

// Appends those of the batch that were asked for. Returns false once the last of them is past.
bool append_batch(std::string& text, const EventBatch& batch, const DumpOptions& options) {
  auto end = batch.thread_ends.begin();
  const auto append_ends = [&](uint64_t event) {
    for (; end != batch.thread_ends.end() && end->event <= event; ++end) {
      if (end->event >= options.from && end->event <= options.to) {
        schema::append_end(text, options.format, *end);
      }
    }
  };
  for (size_t i = 0; i < batch.events.size(); ++i) {
    const uint64_t number = batch.first_event + i + 1;
    append_ends(number - 1);
    if (number > options.to) return false;
    if (number < options.from) continue;
    schema::append_event(text, options.format, number, batch.events[i]);
  }
  append_ends(UINT64_MAX);
  return !batch.events.empty();
}

Status dump(TapeReader& tape, const DumpOptions& options, std::ostream& out) {
  const uint64_t before = options.from == 0 ? 0 : options.from - 1;
  if (before >= tape.events()) return {};
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(before));
  EventBatch batch;
  std::string text;
  for (bool more = true; more && out;) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    text.clear();
    more = append_batch(text, batch, options);
    out << text;
  }
  return {};
}

}  // namespace

int run_dump(const DumpOptions& options, Console& console) {
  if (options.from > options.to) {
    return console.fail("--from " + base::grouped(options.from) + " is behind --to " +
                        base::grouped(options.to) + ": give the lower number as --from");
  }
  auto tape = open_tape(options.path, schema::OnDamage::kSkip, console);
  if (!tape.ok()) return console.fail(tape.error());
  const Status status = dump(*tape, options, console.out());
  if (!status.ok()) return console.fail(status.error());
  if (tape->damages().empty()) return console.finish();
  return console.fail(first_damage_text(*tape) + "; the events there are left out");
}

}  // namespace heaptape::cli
