// Makes a tape of somebody else's trace. docs/howto-import.md.
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
  schema::TapeOrigin origin;  // as the header has it
  schema::TapeSummary summary;
  ImportTroubles troubles;
  const char* place_name = "line";  // of troubles.malformed_pieces: "line" or "byte"
  std::string broken;               // why the trace ends before its end; empty: it does not
  uint64_t broken_at = 0;           // the byte, when unpacked
};

// Streams: memory is that of the blocks that live at once. The losses of the tape are those of the
// trace. Fails with kUsage for an unknown format or a folder, with kForeign for a file that is not
// of the format; where the tape cannot be written, as TapeWriter does. `progress` is told the share
// of the file that was read.
base::Result<ImportResult> import_trace(const ImportOptions& options,
                                        std::function<void(double)> progress = nullptr);

}  // namespace heaptape::recorder
