#include "cli/output_check.h"

#include <filesystem>

#include "base/output_file.h"

namespace heaptape::cli {

// Does not open a FIFO: its reader would see the end of the file.
base::Status check_writable(const std::string& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_fifo(path, error)) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto probe,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kRemove));
  return {};
}

}  // namespace heaptape::cli
