// The real jemalloc, for tests that compare a model with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heaptape::tests {

struct JemallocFacts {
  // Why the tests cannot compare with it, printed when they are skipped; empty if they can.
  std::string unusable;
  // The same, for tests of how much memory it holds.
  std::string other_build;

  struct Size {
    uint64_t bytes;
    uint64_t usable;
  };
  // Ascending, by nallocx(): every size up to 4 MiB at which `usable` changes, then a selection.
  std::vector<Size> sizes;
};

// The facts of libjemalloc.so.2, found by running a program with it. Usable: version 5.3.0.
const JemallocFacts& jemalloc_facts();

}  // namespace heaptape::tests
