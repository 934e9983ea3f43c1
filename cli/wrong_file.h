// Reports a file of the wrong kind: a report instead of a tape, or a tape instead of a report.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// Whether the file is the manifest of a recording, as far as its beginning shows.
bool is_manifest(const std::string& path);

// The error of a command that cannot read `path` as a tape, or as a report: `error`, or, if
// heaptape knows the kind of the file, a sentence that names it and says what to give instead.
base::Error not_a_tape(const base::Error& error, const std::string& path);
base::Error not_a_report(const base::Error& error, const std::string& path);

}  // namespace heaptape::cli
