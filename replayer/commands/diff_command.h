// `heaptape diff BASE.json NEW.json`: the command, without the parsing of its command line.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "replayer/report/diff_format.h"

namespace heaptape::replayer {

struct DiffOptions {
  std::string base_path;
  std::string new_path;
  std::string run;                   // a label; empty = every run that both reports have
  std::vector<std::string> fail_if;  // see gate.h
  DiffFormat format = DiffFormat::kText;
};

// Writes the comparison to `out`, or one sentence to `err`. Returns the exit code: 0, 1 if a gate
// failed, 2 for options that make no sense, reports that cannot be read, or output that cannot be
// written.
int run_diff(const DiffOptions& options, std::ostream& out, std::ostream& err);

}  // namespace heaptape::replayer
