// The processes of a recording, by its manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/console.h"
#include "schema/tape/manifest.h"

namespace heaptape::cli {

enum class ProcessOrder : uint8_t {
  kMemory,  // of malloc, or all anonymous memory where malloc's part is not known; largest first
  kCalls,   // most first
  kPid,     // lowest first
  kTitle,   // as text
};

struct ProcessFilter {
  std::optional<ProcessOrder> order = {};  // nothing: kMemory, or by live bytes, if any are known
  uint64_t min_events = 0;
  std::string text;  // that the title, the executable or the tape's name has; empty: all
};

// The processes that the command of the recording became, one for each interval in which there was
// one: the last program with the pid of the first one.
std::vector<size_t> successors_of_command(const schema::Manifest& manifest);

// Keeps the processes that the filter lets pass, in its order. By live bytes: the highest peak
// first, and last the processes of which none are known.
void select(schema::Manifest& manifest, const ProcessFilter& filter);

// Reads the tape of each process that the filter lets pass, and notes its live bytes. Those of a
// tape that cannot be read stay unknown: then the console has the first reason, and the result is
// false. `path`: of the manifest.
bool count_live_bytes(schema::Manifest& manifest, const ProcessFilter& filter,
                      const std::string& path, Console& console);

// A line for each process, and what was not recorded. `all` has the processes before select().
// `width`: of the table at most. Live bytes have columns if any are known.
std::string process_table(const schema::Manifest& selected, const schema::Manifest& all,
                          size_t width);

// The path of a tape for a command on one: `path` itself, or, if that is a manifest, the tape of
// its process with most memory of malloc, among those with the pid `process`, those of that
// program, or those with that text in title, executable or name of the tape. Says in a note which
// it is. `process` must be empty if `path` is a tape.
base::Result<std::string> choose_tape(const std::string& path, const std::string& process,
                                      Console& console);

}  // namespace heaptape::cli
