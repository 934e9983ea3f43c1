// The commands that look at a tape without replaying it. Each writes its result to `out`, errors as
// one sentence to `err`, and returns the exit code: 0, 1 (verify found damage or losses) or 2.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "schema/tape_text.h"

namespace heaptape::replayer {

int run_info(const std::string& path, std::ostream& out, std::ostream& err);

// Reads every byte of the tape. Damage, and losses that the recorder noted, each get a line.
int run_verify(const std::string& path, std::ostream& out, std::ostream& err);

// Writes what can be read of a damaged tape to a whole one.
int run_recover(const std::string& path, const std::string& output, std::ostream& out,
                std::ostream& err);

struct DumpOptions {
  std::string path;
  uint64_t from = 1;  // numbers of calls, from 1, both included
  uint64_t to = UINT64_MAX;
  schema::TextFormat format = schema::TextFormat::kText;
};
int run_dump(const DumpOptions& options, std::ostream& out, std::ostream& err);

int run_stats(const std::string& path, bool json, std::ostream& out, std::ostream& err);

}  // namespace heaptape::replayer
