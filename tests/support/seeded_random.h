// Random numbers for a repeatable test.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/tapes.h"

namespace heaptape::tests {

// The seed is test_seed(), and is shown with every failure while the object lives.
class SeededRandom : public Random {
 public:
  SeededRandom() : SeededRandom(test_seed()) {}

 private:
  explicit SeededRandom(uint64_t seed)
      : Random(seed), trace_(__FILE__, __LINE__, "HEAPTAPE_TEST_SEED=" + std::to_string(seed)) {}

  testing::ScopedTrace trace_;
};

}  // namespace heaptape::tests
