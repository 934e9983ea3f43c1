// Converts a trace of another tool to a tape. docs/howto-import.md.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "recorder/import/imported_events.h"
#include "schema/tape/tape_info.h"

namespace heaptape::recorder {

struct ImportOptions {
  std::string format;  // see trace_formats()
  std::string path;    // of the trace
  std::string output;  // of the tape
};

struct ImportResult {
  schema::TapeOrigin origin;  // as in the header
  schema::TapeSummary summary;
  ImportTroubles troubles;
  const char* place_name = "line";  // of troubles.malformed_pieces: "line" or "byte"
  std::string broken;               // why the trace ends early; empty if it does not
  uint64_t broken_at = 0;           // the byte, when unpacked
};

// Streams: memory grows with the blocks live at once. The tape's losses are those of the trace.
// Fails with kUsage for an unknown format or a directory, with kForeign for a file of another
// format; if the tape cannot be written, as TapeWriter does. `progress` receives the share of the
// file that has been read.
base::Result<ImportResult> import_trace(const ImportOptions& options,
                                        std::function<void(double)> progress = nullptr);

}  // namespace heaptape::recorder
