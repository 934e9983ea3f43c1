// Finds the moments of a run from how its live bytes change, in one pass and in constant memory.
// docs/metrics.md, "Moments", defines them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace heaptape::replayer {

// Notes every call in turn. Guarantees:
// - peak() and the call before teardown are exact; the end of a plateau is found at most 1/2048 of
//   the run too early, never too late.
// - Memory is bounded: 4096 buckets of calls, which double in length when they are full.
class LiveProfile {
 public:
  enum class Change : int8_t { kFreed, kNone, kAllocated };

  // `live_bytes`: before the first call.
  explicit LiveProfile(uint64_t live_bytes) : peak_bytes_(live_bytes) {}
  LiveProfile() = default;

  // After call number `event`, from 1; ascending, without gaps.
  void note(uint64_t event, uint64_t live_bytes, Change change) {
    if (event > bucket_end_) [[unlikely]]
      next_bucket();
    Bucket& bucket = buckets_.back();
    if (live_bytes > bucket.highest) bucket.highest = live_bytes;
    score_ += change == Change::kFreed ? -1 : change == Change::kAllocated ? kAllocationScore : 0;
    if (score_ >= bucket.best_score) {
      bucket.best_score = score_;
      bucket.best_at = event;
      bucket.live_at_best = live_bytes;
    }
    if (score_ < bucket.worst_score) {
      bucket.worst_score = score_;
      bucket.worst_at = event;
    }
    bucket.last_live = live_bytes;
    if (live_bytes > peak_bytes_) {
      peak_bytes_ = live_bytes;
      peak_at_ = event;
    }
    events_ = event;
  }
  // The program made no call for long after the last one noted.
  void note_pause();

  uint64_t peak_at() const { return peak_at_; }
  // The last call before the teardown; the end if there is none.
  uint64_t exit_at() const;
  // Nothing if live bytes never fell far before exit_at().
  std::optional<uint64_t> plateau_at() const;

 private:
  // An allocation counts as much as this many frees: while a program works, the score rises.
  static constexpr int64_t kAllocationScore = 4;
  static constexpr size_t kMostBuckets = 4096;

  struct Bucket {
    uint64_t end = 0;        // the last call in it, except in the newest
    uint64_t highest = 0;    // live bytes
    uint64_t last_live = 0;  // after its last call
    int64_t best_score = INT64_MIN;
    uint64_t best_at = 0;  // the last call with that score
    uint64_t live_at_best = 0;
    int64_t worst_score = INT64_MAX;
    uint64_t worst_at = 0;  // the first call with that score
  };
  // A candidate for the largest fall: the highest live bytes before a stretch that ends at `at`,
  // and in it.
  struct Fall {
    uint64_t at = 0;
    uint64_t from_bytes = 0;
    uint64_t to_bytes = 0;

    uint64_t bytes() const { return from_bytes > to_bytes ? from_bytes - to_bytes : 0; }
  };

  void next_bucket();
  void merge_buckets();
  uint64_t end_of(const Bucket& bucket) const { return bucket.end == 0 ? events_ : bucket.end; }
  uint64_t live_at(uint64_t exit, const Bucket& bucket) const;
  Fall largest_fall(uint64_t exit) const;

  std::vector<Bucket> buckets_;
  uint64_t bucket_calls_ = 1;
  uint64_t bucket_end_ = 0;  // the last call in the newest bucket
  uint64_t events_ = 0;
  int64_t score_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t peak_at_ = 0;
  uint64_t last_pause_ = 0;  // calls before it
  Fall pause_fall_;          // the pause after the largest fall
};

}  // namespace heaptape::replayer
