#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/temp_dir.h"

namespace heaptape::tests {

std::string golden_path(const std::string& name) {
  return std::string(HEAPTAPE_GOLDEN_DIR) + "/" + name;
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") != nullptr) write_bytes(golden_path(name), text);
  EXPECT_EQ(text, read_bytes(golden_path(name))) << "in " << golden_path(name);
}

}  // namespace heaptape::tests
