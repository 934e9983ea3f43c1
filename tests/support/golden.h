// Files in tests/golden: what older versions wrote and must stay readable, and what formats look
// like. HEAPTAPE_UPDATE_GOLDEN=1 makes a test rewrite those of its own output; look at the change.
#pragma once

#include <string>

namespace heaptape::tests {

std::string golden_path(const std::string& name);

// Expects `text` to be what the golden file holds.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace heaptape::tests
