// Each thread's requests and frees. docs/metrics.md, "Sizes and lifetimes".
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace heaptape::replayer {

// A block belongs to the thread that requested it, or resized it last.
struct ThreadTotal {
  uint64_t calls = 0;            // all that it made, including failed calls
  uint64_t asked_bytes = 0;      // every size that it requested and got
  uint64_t live_count = 0;       // blocks that belong to it
  uint64_t live_bytes = 0;       // their sizes
  uint64_t foreign_frees = 0;    // blocks that it freed and that belonged to another
  uint64_t freed_by_others = 0;  // blocks that belonged to it and that another freed
};

// Memory grows with threads, and with their numbers up to 4096: a tape may have any.
class ThreadTotals {
 public:
  ThreadTotals() = default;
  ThreadTotals(const ThreadTotals&) = delete;
  ThreadTotals& operator=(const ThreadTotals&) = delete;

  void on_call(uint32_t thread) { ++at(thread).calls; }
  void on_take(uint32_t thread, uint64_t size) {
    ThreadTotal& total = at(thread);
    total.asked_bytes += size;
    total.live_bytes += size;
    ++total.live_count;
  }
  // A block was freed by `thread`.
  void on_free(uint32_t owner, uint32_t thread, uint64_t size) {
    if (owner != thread) {
      ++at(owner).freed_by_others;
      ++at(thread).foreign_frees;
    }
    on_leave(owner, size);
  }
  // A block no longer belongs to it, or not with this size.
  void on_leave(uint32_t owner, uint64_t size) {
    ThreadTotal& total = at(owner);
    total.live_bytes -= size;
    --total.live_count;
  }

  // By number; those that made a call.
  std::map<uint32_t, ThreadTotal> sorted() const {
    std::map<uint32_t, ThreadTotal> sorted(sparse_.begin(), sparse_.end());
    for (uint32_t thread = 0; thread < dense_.size(); ++thread) {
      if (dense_[thread].calls != 0) sorted[thread] = dense_[thread];
    }
    return sorted;
  }

 private:
  // Others have numbers as large as a damaged tape likes.
  static constexpr uint32_t kDenseLimit = 4096;

  ThreadTotal& at(uint32_t thread) {
    if (thread < dense_.size()) [[likely]]
      return dense_[thread];
    if (thread >= kDenseLimit) return sparse_[thread];
    dense_.resize(thread + size_t{1});
    return dense_[thread];
  }

  std::vector<ThreadTotal> dense_;  // by number
  std::unordered_map<uint32_t, ThreadTotal> sparse_;
};

}  // namespace heaptape::replayer
