// Blocks in order of allocation, from a trace that has them in another order.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace heaptape::recorder {

struct Birth {
  uint64_t born = 0;  // in any unit of time
  uint64_t freed = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};

// Sorts a few in memory, and more in runs in a temporary file, which are merged. Memory is that of
// a run and of kMergedBirths, 24 MiB, and 2 KiB for each run once there are many. A run has 262,144
// blocks. One thread.
class SortedBirths {
 public:
  // All blocks first. False if the temporary file is full.
  bool add(const Birth& birth);
  bool start();
  // Then each in turn. False at the end, and if the file cannot be read.
  bool next(Birth& birth);

 private:
  static constexpr size_t kRunBirths = size_t{1} << 18;
  static constexpr size_t kMergedBirths = size_t{1} << 19;  // in memory, of all runs
  static constexpr size_t kLeastBuffer = 64;                // births of a run

  struct Run {
    uint64_t begin = 0;  // in the file, in births
    uint64_t end = 0;
    std::vector<Birth> buffer;
    size_t at = 0;  // in buffer
  };
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool write_run();
  bool refill(Run& run);
  // Whether one run's next birth comes after another's: a heap puts the greatest first.
  auto behind() const {
    return [this](size_t a, size_t b) { return is_behind(runs_[a], runs_[b]); };
  }
  static bool is_behind(const Run& a, const Run& b);

  std::vector<Birth> collected_;
  std::vector<Run> runs_;
  std::vector<size_t> heap_;  // runs with births left
  std::unique_ptr<std::FILE, Closer> file_;
  uint64_t written_ = 0;
};

}  // namespace heaptape::recorder
