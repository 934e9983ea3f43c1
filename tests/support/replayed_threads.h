// Batches with several threads for a native backend, and their results.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "allocators/native/native_backend.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {

using schema::ThreadEnd;

struct Tape {
  std::vector<ReplayOp> ops;
  std::vector<ThreadEnd> ends;
  uint32_t slots = 0;
};

// Threads that take turns at random, free and resize each other's blocks, end, and are replaced by
// new ones.
class RandomTape {
 public:
  RandomTape(tests::Random& random, uint32_t threads) : random_(random) {
    for (; next_thread_ < threads; ++next_thread_) running_.push_back(next_thread_);
  }
  Tape make(size_t count) {
    while (tape_.ops.size() < count) {
      if (random_.chance(400)) replace_thread();
      tape_.ops.push_back(next_op());
      tape_.ops.back().thread = static_cast<uint16_t>(running_[random_.below(running_.size())]);
    }
    tape_.slots = kSlots;
    return tape_;
  }

 private:
  static constexpr uint32_t kSlots = 3000;

  // Thread 0 never ends.
  void replace_thread() {
    uint32_t& thread = running_[1 + random_.below(running_.size() - 1)];
    tape_.ends.push_back({tape_.ops.size(), thread});
    thread = next_thread_++;
  }
  uint64_t size() {
    const uint64_t log2 = random_.below(random_.chance(50) ? 19 : 12);
    return 1 + random_.below(uint64_t{1} << log2);
  }
  ReplayOp next_op() {
    const auto slot = static_cast<uint32_t>(random_.below(kSlots));
    const bool is_live = !live_.insert(slot).second;
    if (is_live && random_.chance(4)) return {ReplayKind::kRealloc, 0, 0, slot, size()};
    if (is_live) {
      live_.erase(slot);
      return {ReplayKind::kFree, 0, 0, slot, 0};
    }
    if (random_.chance(10)) return {ReplayKind::kCalloc, 0, 0, slot, size()};
    if (!random_.chance(10)) return {ReplayKind::kMalloc, 0, 0, slot, size()};
    return {ReplayKind::kMemalign, static_cast<uint8_t>(4 + random_.below(10)), 0, slot, size()};
  }

  tests::Random& random_;
  Tape tape_;
  std::vector<uint32_t> running_;
  uint32_t next_thread_ = 0;
  std::set<uint32_t> live_;
};

class Replayed {
 public:
  Replayed(const NativeOptions& options, const Tape& tape) : backend_(options) {
    const auto started = backend_.start();
    EXPECT_TRUE(started.ok()) << started.error().message;
    if (started.ok()) run(tape);
  }
  void run(const Tape& tape) {
    const std::vector<uint64_t> recorded(tape.ops.size());
    ReplayBatch batch{first_event_, tape.slots, tape.ops, recorded, {}};
    batch.thread_ends = tape.ends;
    EXPECT_TRUE(backend_.submit(batch).ok());
    status_ = backend_.collect(result_);
    EXPECT_TRUE(status_.ok()) << status_.error().message;
    first_event_ += tape.ops.size();
  }
  // From the first block: mimalloc maps its memory at a random address.
  std::vector<uint64_t> offsets() const {
    std::vector<uint64_t> offsets;
    for (const Placement& placement : result_.placements) {
      if (placement.address == 0) continue;
      offsets.push_back(placement.address - result_.placements.front().address);
    }
    return offsets;
  }
  const BatchResult& result() const { return result_; }
  NativeBackend& backend() { return backend_; }

 private:
  NativeBackend backend_;
  uint64_t first_event_ = 0;
  BatchResult result_;
  base::Status status_;
};

inline NativeOptions options_of(Threads threads, const std::string& library = "",
                                const std::vector<std::string>& environment = {}) {
  NativeOptions options;
  options.name = "test";
  options.library = library;
  options.environment = environment;
  options.threads = threads;
  return options;
}

}  // namespace heaptape::allocators
