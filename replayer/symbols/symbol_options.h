// Options for finding symbols.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::replayer {

struct SymbolOptions {
  // Directories of debug files, searched before /usr/lib/debug.
  std::vector<std::string> debug_dirs;
  // Asks the servers in $DEBUGINFOD_URLS for missing files. No server is asked otherwise.
  bool debuginfod = false;
  // When the tape ended; 0 if unknown. A file without a build-id that was changed later may be
  // another build.
  uint64_t recorded_until_unix_ns = 0;
  // False: reads no file, and forks no process.
  bool reads_files = true;
  // Limits on reading one module.
  uint64_t module_bytes = uint64_t{8} << 30;  // of memory
  uint32_t module_seconds = 120;
};

}  // namespace heaptape::replayer
