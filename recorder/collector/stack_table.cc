#include "recorder/collector/stack_table.h"

#include <iterator>
#include <utility>

namespace heaptape::recorder {

using schema::CodeMapping;
using schema::Frame;
using schema::FrameNumber;

// Fibonacci hashing (Knuth, TAOCP 3, 6.4).
uint64_t StackTable::hash_of(const Frame& frame) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  return (frame.return_address + (uint64_t{frame.caller} << 40 | frame.caller)) * kGolden;
}

StackTable::Place& StackTable::Shard::find(const Frame& frame, uint64_t hash) {
  const size_t mask = places.size() - 1;
  for (size_t at = (hash << kShardsLog2) >> shift;; at = (at + 1) & mask) {
    Place& place = places[at];
    if (place.number == 0 || place.frame == frame) return place;
  }
}

void StackTable::Shard::grow() {
  --shift;
  const std::vector<Place> before = std::exchange(places, {});
  places.resize(2 * before.size());
  for (const Place& place : before) {
    if (place.number != 0) find(place.frame, hash_of(place.frame)) = place;
  }
}

FrameNumber StackTable::find_or_add(const Frame& frame) {
  const uint64_t hash = hash_of(frame);
  Shard& shard = shards_[hash >> (64 - kShardsLog2)];
  Place* place = &shard.find(frame, hash);
  if (place->number != 0 || frames_ == schema::kMostFrames) return place->number;
  if (shard.is_full()) {
    shard.grow();
    place = &shard.find(frame, hash);
  }
  *place = {frame, tape_.add_frame(frame)};
  ++frames_;
  ++shard.used;
  return place->number;
}

void StackTable::note_code(const std::vector<CodeMapping>& mappings) {
  for (const CodeMapping& mapping : mappings) {
    const auto known = code_.find(mapping.range.begin);
    if (known != code_.end() && known->second == mapping) continue;
    forget_code(mapping.range);
    code_.emplace(mapping.range.begin, mapping);
    tape_.add_mapping(mapping);
  }
}

// What was there is gone. If it comes again, it goes onto the tape again.
void StackTable::forget_code(const base::AddressRange& range) {
  auto at = code_.lower_bound(range.begin);
  if (at != code_.begin() && std::prev(at)->second.range.end > range.begin) --at;
  while (at != code_.end() && at->first < range.end) at = code_.erase(at);
}

}  // namespace heaptape::recorder
