#include "tests/support/temp_dir.h"

#include <fstream>
#include <sstream>

#include "base/check.h"

namespace heaptape::tests {

TempDir::TempDir(const std::filesystem::path& parent) {
  std::string pattern = (parent / "heaptape-test-XXXXXX").string();
  HEAPTAPE_CHECK(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace heaptape::tests
