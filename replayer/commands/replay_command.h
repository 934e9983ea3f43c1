// `heaptape replay` and `heaptape allocators`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "replayer/engine/replay.h"

namespace heaptape::replayer {

struct ReplayCommandOptions {
  std::string tape_path;
  std::vector<std::string> specs;  // as given with -a
  std::string report_path;         // empty: none
  std::string csv_path;            // empty: none
  ReplayOptions replay;            // specs are filled in from the above
};

// Prints a table, and writes the report and the timeline where asked to. Returns the exit code.
int run_replay(const ReplayCommandOptions& options, std::ostream& out, std::ostream& err);

// Lists the allocators that can be replayed on, and whether each can be loaded here.
int run_allocators(std::ostream& out, std::ostream& err);

}  // namespace heaptape::replayer
