#include "cli/output_check.h"

#include <filesystem>

#include "base/output_file.h"

namespace heaptape::cli {

// Who reads from a FIFO would take a try for the end.
base::Status check_writable(const std::string& path) {
  std::error_code error;
  if (path.empty() || std::filesystem::is_fifo(path, error)) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto probe,
                            base::OutputFile::create(path, base::OutputFile::IfAbandoned::kRemove));
  return {};
}

}  // namespace heaptape::cli
