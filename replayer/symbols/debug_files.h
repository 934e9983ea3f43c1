// Separate debug files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace heaptape::replayer {

// The build-id of an ELF file, as bytes; empty: it has none, or is none.
std::string build_id_of(const base::Descriptor& file);

struct DebugFile {
  std::string path;
  base::Descriptor file;
};

// Finds debug files where distributions and gdb keep them. What is found is checked.
class DebugFiles {
 public:
  // Folders like /usr/lib/debug, which comes last of its own accord.
  explicit DebugFiles(std::vector<std::string> folders);

  // FOLDER/.build-id/ab/cdef.debug, which has this build-id.
  std::optional<DebugFile> find_by_build_id(std::string_view build_id) const;
  // The `.gnu_debuglink` of a file: beside it, in .debug beside it, or in its place below a folder.
  // It has the build-id of the file or, if that has none, the checksum.
  std::optional<DebugFile> find_by_link(const std::string& path, const std::string& link,
                                        uint32_t checksum, std::string_view build_id) const;
  // What dwz moved from several debug files to one, which is named by `path` or from there.
  std::optional<DebugFile> find_shared(const std::string& path, const std::string& name,
                                       std::string_view build_id) const;

 private:
  std::vector<std::string> folders_;
};

}  // namespace heaptape::replayer
