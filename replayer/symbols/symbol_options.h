// How symbols are looked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::replayer {

struct SymbolOptions {
  // Folders of debug files like /usr/lib/debug, which is searched after them.
  std::vector<std::string> debug_dirs;
  // Asks the servers that $DEBUGINFOD_URLS names for what is not there. Nobody is asked otherwise.
  bool debuginfod = false;
  // When the tape ended; 0: not known. A file without a build-id that was changed later may be
  // another build.
  uint64_t recorded_until_unix_ns = 0;
  // False: no file is looked at, and no process forked.
  bool reads_files = true;
  // What reading one module may take.
  uint64_t module_bytes = uint64_t{8} << 30;  // of memory
  uint32_t module_seconds = 120;
};

}  // namespace heaptape::replayer
