#include "replayer/answers/live_profile.h"

#include <algorithm>

namespace heaptape::replayer {
namespace {

// A fall or teardown of less than this share of the peak does not count.
constexpr uint64_t kLeastFallShare = 8;
constexpr uint64_t kStretches = 128;
constexpr uint64_t kLeastStretchCalls = 16;
// How far the score may rise in a teardown: by this much, and by this share of its fall.
constexpr int64_t kSmallRise = 64;
constexpr int64_t kRiseShare = 16;
// After a fall, live bytes are on the plateau until they rise by this share of it.
constexpr uint64_t kPlateauRiseShare = 8;

}  // namespace

void LiveProfile::next_bucket() {
  if (!buckets_.empty()) buckets_.back().end = events_;
  if (buckets_.size() == kMostBuckets) merge_buckets();
  buckets_.emplace_back();
  bucket_end_ = events_ + bucket_calls_;
}

void LiveProfile::merge_buckets() {
  for (size_t i = 0; i < kMostBuckets / 2; ++i) {
    Bucket merged = buckets_[2 * i];
    const Bucket& second = buckets_[2 * i + 1];
    merged.end = second.end;
    merged.highest = std::max(merged.highest, second.highest);
    merged.last_live = second.last_live;
    if (second.best_score >= merged.best_score) {
      merged.best_score = second.best_score;
      merged.best_at = second.best_at;
      merged.live_at_best = second.live_at_best;
    }
    if (second.worst_score < merged.worst_score) {
      merged.worst_score = second.worst_score;
      merged.worst_at = second.worst_at;
    }
    buckets_[i] = merged;
  }
  buckets_.resize(kMostBuckets / 2);
  bucket_calls_ *= 2;
}

void LiveProfile::note_pause() {
  if (events_ == 0) return;
  last_pause_ = events_;
  const Fall fall{events_, peak_bytes_, buckets_.back().last_live};
  if (fall.bytes() >= pause_fall_.bytes()) pause_fall_ = fall;
}

// A teardown is a stretch to the very end, without a pause, in which the score falls except for
// small rises, and live bytes fall by an eighth or more. Buckets are scanned from the last one
// back, so the score has to rise.
uint64_t LiveProfile::exit_at() const {
  int64_t best = score_;
  int64_t worst = score_;
  uint64_t exit = events_;
  uint64_t live_at_exit = 0;
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const bool goes_on = bucket->worst_score >= worst - kSmallRise - (best - worst) / kRiseShare;
    if (goes_on && bucket->best_score > best) {
      best = bucket->best_score;
      exit = bucket->best_at;
      live_at_exit = bucket->live_at_best;
    }
    worst = std::min(worst, bucket->worst_score);
    if (!goes_on || bucket->best_at <= last_pause_) break;
  }
  if (exit <= last_pause_) return last_pause_;
  const uint64_t live_at_end = buckets_.empty() ? 0 : buckets_.back().last_live;
  return live_at_end <= live_at_exit - live_at_exit / kLeastFallShare ? exit : events_;
}

uint64_t LiveProfile::live_at(uint64_t exit, const Bucket& bucket) const {
  if (exit == end_of(bucket)) return bucket.last_live;
  return exit == bucket.best_at ? bucket.live_at_best : bucket.highest;
}

// Candidates are a stretch of 1/128 of the run, at least 16 calls, the pause after the largest
// fall, and the point where the program ceased to work, whatever follows.
LiveProfile::Fall LiveProfile::largest_fall(uint64_t exit) const {
  const uint64_t calls = std::max<uint64_t>(events_ / kStretches, kLeastStretchCalls);
  const auto stretch = static_cast<size_t>((calls + bucket_calls_ - 1) / bucket_calls_);
  Fall largest = pause_fall_;
  uint64_t highest_before = 0;
  for (size_t first = 0; first < buckets_.size(); ++first) {
    Fall fall{0, highest_before, 0};
    size_t last = first;
    for (; last < first + stretch && last < buckets_.size(); ++last) {
      if (end_of(buckets_[last]) >= exit) break;
      fall.to_bytes = std::max(fall.to_bytes, buckets_[last].highest);
    }
    const bool is_exit = last < buckets_.size() && end_of(buckets_[last]) >= exit;
    if (!is_exit && last < first + stretch) break;
    fall.at = is_exit ? exit : end_of(buckets_[last - 1]);
    if (is_exit) fall.to_bytes = live_at(exit, buckets_[last]);
    if (fall.bytes() > largest.bytes()) largest = fall;
    highest_before = std::max(highest_before, buckets_[first].highest);
    if (is_exit && last == first) break;
  }
  return largest;
}

std::optional<uint64_t> LiveProfile::plateau_at() const {
  const uint64_t exit = exit_at();
  const Fall fall = largest_fall(exit);
  if (fall.bytes() == 0 || fall.bytes() < peak_bytes_ / kLeastFallShare) return std::nullopt;
  const uint64_t limit = fall.to_bytes + fall.bytes() / kPlateauRiseShare;
  uint64_t at = fall.at;
  for (const Bucket& bucket : buckets_) {
    if (end_of(bucket) <= at) continue;
    if (at == exit || bucket.highest > limit) break;
    at = std::min(end_of(bucket), exit);
  }
  return at;
}

}  // namespace heaptape::replayer
