// The list of tapes that one recording made: written beside them as "TAPE.manifest.json", so that
// scripts (and people) find the process they want. docs/tape-format.md, "Header, summary,
// manifest".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/tape/event.h"

namespace heaptape::schema {

inline constexpr uint32_t kManifestVersion = 1;

// A command line as ps shows it: words with blanks between them; at most 1 KiB.
std::string title_of(const std::vector<std::string>& command_line);

// Requested bytes of the blocks that were alive.
struct LiveBytes {
  uint64_t peak = 0;
  uint64_t end = 0;
};

// Whether it can be the name of a tape in the directory of the file that names it: it leads to no
// other.
bool is_name_beside(const std::string& name);

struct ManifestProcess {
  std::string tape;  // file name, in the directory of the manifest
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  std::string executable;
  std::vector<std::string> command_line;
  uint64_t events = 0;
  uint64_t bytes = 0;
  uint64_t lost_events = 0;
  std::string ended;
  std::optional<ProcessSample> largest_sample = {};  // see TapeSummary
  // title_of() what its command line was when it was sampled last, which setproctitle(3) changes.
  // Empty if that is title_of(command_line).
  std::string title = {};
  std::optional<LiveBytes> live = {};  // only where somebody counted the calls of the tape
  uint32_t interval = 1;               // of the recording, from 1
};

// A program, or a library in one, whose calls are on no tape.
struct ManifestUnrecorded {
  std::string program;  // path, as it was executed or opened
  std::string reason;   // a few words
  uint64_t times = 0;
  std::vector<std::string> families =
      {};  // of allocators inside; then its other calls are recorded
};

struct Manifest {
  std::vector<std::string> command;
  std::vector<ManifestProcess> processes;
  std::vector<ManifestUnrecorded> unrecorded;
};

// Text that is not UTF-8 (a command line may be) comes out with U+FFFD in its place.
base::Result<std::string> to_json(const Manifest& manifest);

// `path` is for messages only. Fields that the text lacks are empty.
base::Result<Manifest> parse_manifest(const std::string& path, std::string_view text);

// The manifest in the file `path`, of at most 8 MiB.
base::Result<Manifest> read_manifest(const std::string& path);

}  // namespace heaptape::schema
