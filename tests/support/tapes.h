// Makes events and tapes for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/tape_info.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::tests {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): small, and the same on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

 private:
  uint64_t state_;
};

// The seed of a randomised test: HEAPTAPE_TEST_SEED, or a fixed one; printed with a failure. `./dev
// soak` supplies a new one.
uint64_t test_seed();

schema::Event malloc_event(uint64_t size, uint64_t address, uint32_t thread = 0);
schema::Event free_event(uint64_t address, uint32_t thread = 0);
schema::Event realloc_event(uint64_t old_address, uint64_t size, uint64_t address);

// Any valid events, regardless of what an allocator would do.
std::vector<schema::Event> arbitrary_events(Random& random, size_t count);

// Events that a well-behaved allocator could have produced: blocks never overlap. `alignment` is
// that of every address (8 or 16).
std::vector<schema::Event> plausible_events(Random& random, size_t count, uint64_t alignment = 16,
                                            uint32_t threads = 1);

// As plausible_events, with everything else that real tapes have: every entry point, calls that
// failed, frees of NULL and of unknown blocks, realloc in place, of NULL and to nothing. With
// `losses`, some frees are missing, so that blocks are handed out while alive.
std::vector<schema::Event> eventful_events(Random& random, size_t count, uint64_t alignment = 16,
                                           bool losses = false);

schema::TapeHeader sample_header();

// Writes a finished tape; fails the test on an error.
void write_tape(const std::string& path, const std::vector<schema::Event>& events,
                const schema::TapeSummary& summary = {},
                const schema::TapeHeader& header = sample_header());

// The same with process samples in between: each sees some of the heap.
void write_sampled_tape(const std::string& path, const std::vector<schema::Event>& events,
                        Random& random);

// All remaining events of `reader`, in batches of `batch_events`.
std::vector<schema::Event> read_events(schema::TapeReader& reader, size_t batch_events = 4096);

}  // namespace heaptape::tests
