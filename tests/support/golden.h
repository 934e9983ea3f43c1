// Files in tests/golden: output of older versions that must stay readable, and samples of formats.
// HEAPTAPE_UPDATE_GOLDEN=1 makes a test rewrite those of its own output; review the change.
#pragma once

#include <string>

namespace heaptape::tests {

std::string golden_path(const std::string& name);

// Expects `text` to equal the golden file.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace heaptape::tests
