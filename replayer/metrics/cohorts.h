// The blocks alive at one moment by requested size and time: two reports compare them to say which
// blocks account for a change. docs/metrics.md, "Cohorts".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heaptape::replayer {

// Blocks of one requested size, or of the unlisted sizes of one band, requested in one window of
// the run.
struct Cohort {
  uint64_t size_bytes = 0;  // of each; for unlisted sizes the least of their band, a power of two
  bool is_other_sizes = false;
  uint32_t window = 0;
  uint64_t count = 0;
  uint64_t bytes = 0;        // of the blocks, or in the holes beside them
  uint64_t first_birth = 0;  // numbers of the first and the last call that requested them, from 1
  uint64_t last_birth = 0;
};

// The run is cut into windows of equally many calls. Memory grows with the number of different
// sizes of live blocks. One thread.
class Cohorts {
 public:
  static constexpr uint32_t kWindows = 16;

  // `run_calls`: of the whole run. `most_sizes`: listed at most.
  explicit Cohorts(uint64_t run_calls, size_t most_sizes = 31)
      : run_calls_(run_calls), most_sizes_(most_sizes) {}

  // A live block that counts for `bytes`. `birth`: the call that requested it, at most run_calls.
  void add(uint64_t size_bytes, uint64_t birth, uint64_t bytes);

  // By size and window, for the sizes with most bytes; the others come last, by power of two.
  std::vector<Cohort> list() const;

 private:
  using Windows = std::array<Cohort, kWindows>;

  uint64_t run_calls_;
  size_t most_sizes_;
  std::unordered_map<uint64_t, Windows> by_size_;
};

}  // namespace heaptape::replayer
