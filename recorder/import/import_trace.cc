#include "recorder/import/import_trace.h"

#include <utility>

#include "base/address/pages.h"
#include "base/display_text.h"
#include "base/version.h"
#include "recorder/import/trace_format.h"
#include "recorder/import/trace_input.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using schema::TapeHeader;
using schema::TapeSummary;

TapeHeader header_of(const TraceFormat& format, TraceOutline outline) {
  TapeHeader header;
  header.writer = std::string("heaptape ") + base::kVersion;
  header.command_line = std::move(outline.command_line);
  header.executable = std::move(outline.executable);
  header.page_bytes = static_cast<uint32_t>(base::kPageBytes);
  header.origin = {format.name, format.absent | outline.absent};
  return header;
}

// The writer's own counts stay 0.
TapeSummary summary_of(const ImportedEvents& events, bool is_broken) {
  const ImportTroubles& troubles = events.troubles();
  TapeSummary summary;
  summary.losses.causes.malformed = troubles.malformed;
  summary.losses.causes.unknown_frees = troubles.unknown_frees;
  summary.losses.causes.double_frees = troubles.double_frees;
  summary.losses.lost_events = troubles.malformed + troubles.unknown_frees + troubles.double_frees;
  summary.losses.lost_ranges = is_broken ? 1 : 0;
  summary.repaired_inversions = troubles.missed_frees;
  summary.unknown_frees = troubles.unknown_frees;
  summary.duration_ns = events.duration_ns();
  summary.end_status = -1;
  return summary;
}

}  // namespace

base::Result<ImportResult> import_trace(const ImportOptions& options,
                                        std::function<void(double)> progress) {
  HEAPTAPE_ASSIGN_OR_RETURN(const TraceFormat format, find_trace_format(options.format));
  HEAPTAPE_ASSIGN_OR_RETURN(TraceInput input, TraceInput::open(options.path));
  input.set_progress(std::move(progress));
  auto outline = format.look(input);
  if (!outline.ok()) {
    return base::Error::foreign(base::quoted(options.path) + " is not a trace of the format '" +
                                format.name + "': " + outline.error().message +
                                (input.broken().empty() ? "" : "; " + input.broken()));
  }
  const TapeHeader header = header_of(format, std::move(*outline));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto tape, schema::TapeWriter::create(options.output, header));
  const bool makes_addresses = header.origin.lacks(Absent::kAddresses);
  ImportedEvents events(*tape, makes_addresses ? ImportedEvents::Addresses::kMadeUp
                                               : ImportedEvents::Addresses::kOfTrace);
  format.read(input, events);
  tape->flush();
  // finish() accepts a tape that a full disk has cut short.
  HEAPTAPE_RETURN_IF_ERROR(tape->status());
  HEAPTAPE_ASSIGN_OR_RETURN(const TapeSummary summary,
                            tape->finish(summary_of(events, !input.broken().empty())));
  return ImportResult{header.origin,     summary,        events.troubles(),
                      format.place_name, input.broken(), input.offset()};
}

}  // namespace heaptape::recorder
