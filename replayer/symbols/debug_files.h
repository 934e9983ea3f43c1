// Opens files whose names come from a tape or from other files, and finds separate debug files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::replayer {

// Opens a file for reading if it is regular and not empty, as files in /proc are. Never opens
// anything else: opening a pipe could wait forever, and opening a device could act on it.
base::Result<base::Descriptor> open_regular_file(const std::string& path);

// The build-id of an ELF file, as bytes; empty if it has none, or is no ELF file.
std::string build_id_of(const base::Descriptor& file);

struct DebugFile {
  std::string path;
  base::Descriptor file;
};

// Finds debug files where distributions and gdb keep them, and checks them.
class DebugFiles {
 public:
  // Directories like /usr/lib/debug, which always comes last.
  explicit DebugFiles(std::vector<std::string> folders);

  // DIRECTORY/.build-id/ab/cdef.debug, with this build-id.
  std::optional<DebugFile> find_by_build_id(std::string_view build_id) const;
  // A file's `.gnu_debuglink`: beside it, in .debug beside it, or in its place in a directory. It
  // must have the file's build-id or, if the file has none, the checksum.
  std::optional<DebugFile> find_by_link(const std::string& path, const std::string& link,
                                        uint32_t checksum, std::string_view build_id) const;
  // The file to which dwz moved parts of several debug files, named by `path` or from there.
  std::optional<DebugFile> find_shared(const std::string& path, const std::string& name,
                                       std::string_view build_id) const;

 private:
  std::vector<std::string> folders_;
};

}  // namespace heaptape::replayer
