// Input for exports of heaps over time in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "replayer/engine/tape_moments.h"
#include "replayer/export/heap_history.h"

namespace heaptape::tests {

// The history of a tape, with the stacks that `profile` counts if it is not null.
inline replayer::HeapHistory history_of(const std::string& path,
                                        replayer::StackProfile* profile = nullptr,
                                        bool has_times = false) {
  auto tape = schema::TapeReader::open(path);
  const auto ignore = [](double) {};
  const auto found = replayer::find_moments(*tape, UINT64_MAX, ignore);
  EXPECT_TRUE(found.ok());
  EXPECT_TRUE(tape->seek(0).ok());
  auto history = replayer::read_history(*tape, replayer::moments_to_keep(*found, tape->events(), 1),
                                        has_times, profile, ignore);
  EXPECT_TRUE(history.ok());
  return std::move(*history);
}

}  // namespace heaptape::tests
