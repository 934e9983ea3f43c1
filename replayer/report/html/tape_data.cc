#include "replayer/report/html/tape_data.h"

#include <string>

#include "base/display_text.h"
#include "base/name_list.h"
#include "replayer/report/tape_facts.h"

namespace heaptape::replayer {

void write_tape(JsonWriter& out, const schema::TapeReader& tape) {
  const schema::TapeHeader& header = tape.header();
  const schema::TapeSummary summary = tape.summary().value_or(schema::TapeSummary());
  out.open_object();
  out.field("path", base::display_text(tape.path()));
  out.field("command", base::display_text(base::command_text(header.command_line)));
  out.field("allocator", base::display_text(header.allocator));
  out.field("events", tape.events());
  out.field("threads", summary.threads);
  out.field("isFinished", tape.summary().has_value());
  out.field("durationNs", summary.duration_ns);
  out.field("recordedAt",
            header.start_unix_ns == 0 ? std::string() : utc_text(header.start_unix_ns));
  out.field("lostEvents", summary.losses.lost_events);
  out.field("unrepairedInversions", summary.losses.unrepaired_inversions);
  out.field("lostRanges", summary.losses.lost_ranges);
  out.field("importedFrom", base::display_text(header.origin.format));
  out.field("lacks", base::name_list(schema::absent_names(header.origin)));
  out.close_object();
}

}  // namespace heaptape::replayer
