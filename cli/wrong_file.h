// A file of another kind than the command wants: a report for a tape, a tape for a report.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::cli {

// The error of a command that cannot read `path` as a tape, or as a report: `error`, or, where
// heaptape knows what the file is, a sentence that says so and what to give instead.
base::Error not_a_tape(const base::Error& error, const std::string& path);
base::Error not_a_report(const base::Error& error, const std::string& path);

}  // namespace heaptape::cli
