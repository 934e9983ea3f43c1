#include "replayer/answers/live_profile.h"

#include <algorithm>

namespace heaptape::replayer {
namespace {

// A fall of less than this share of the peak is none.
constexpr uint64_t kLeastFallShare = 8;
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

// A teardown is a stretch to the very end, without a pause, of which every later part has more than
// four frees to each allocation: the score is above that of the end all through it, and highest
// where it begins.
uint64_t LiveProfile::exit_at() const {
  int64_t best = score_;
  uint64_t exit = events_;
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const bool goes_on = bucket->worst_score >= score_;
    const bool is_later = goes_on || bucket->best_at > bucket->worst_at;
    if (is_later && bucket->best_score > best) {
      best = bucket->best_score;
      exit = bucket->best_at;
    }
    if (!goes_on || bucket->best_at <= last_pause_) break;
  }
  return std::max(exit, last_pause_);
}

LiveProfile::Fall LiveProfile::largest_fall(uint64_t exit) const {
  Fall largest = pause_fall_;
  uint64_t highest = 0;
  for (const Bucket& bucket : buckets_) {
    const bool is_last = end_of(bucket) >= exit;
    Fall fall{end_of(bucket), highest, bucket.highest};
    // Where the program stopped to work, nothing has to follow.
    if (is_last) fall = {exit, highest, live_at(exit, bucket)};
    if (fall.bytes() > largest.bytes()) largest = fall;
    highest = std::max(highest, bucket.highest);
    if (is_last) break;
  }
  return largest;
}

uint64_t LiveProfile::live_at(uint64_t exit, const Bucket& bucket) const {
  if (exit == end_of(bucket)) return bucket.last_live;
  return exit == bucket.best_at ? bucket.live_at_best : bucket.highest;
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
