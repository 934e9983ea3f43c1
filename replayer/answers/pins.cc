#include "replayer/answers/pins.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "replayer/answers/holes.h"

namespace heaptape::replayer {
namespace {

struct Member {
  size_t block;
  size_t hole;  // in `holes`
};

auto birth_order(const HeapPicture& picture, const Member& member) {
  const LiveBlock& block = picture.blocks[member.block];
  return std::tuple(block.requested_bytes, block.thread, block.birth, member.hole);
}

bool is_alike(const PinGroup& group, const LiveBlock& block, uint64_t calls) {
  constexpr uint64_t kWindowShare = 32;
  return group.size_bytes == block.requested_bytes && group.thread == block.thread &&
         block.birth - group.last_birth <= calls / kWindowShare;
}

std::vector<Member> blocks_beside(const HeapPicture& picture, std::span<const Hole> holes) {
  std::vector<Member> members;
  for (size_t i = 0; i < holes.size(); ++i) {
    if (holes[i].before != kNoBlock) members.push_back({holes[i].before, i});
    if (holes[i].after != kNoBlock) members.push_back({holes[i].after, i});
  }
  std::ranges::sort(members, [&picture](const Member& a, const Member& b) {
    return birth_order(picture, a) < birth_order(picture, b);
  });
  return members;
}

// Collects members in the order of birth.
class Grouping {
 public:
  Grouping(const HeapPicture& picture, std::span<const Hole> holes)
      : picture_(picture), holes_(holes) {}

  void add(const Member& member) {
    const LiveBlock& block = picture_.blocks[member.block];
    if (groups_.empty() || !is_alike(groups_.back(), block, picture_.at)) {
      close();
      groups_.push_back({.size_bytes = block.requested_bytes,
                         .thread = block.thread,
                         .first_birth = block.birth});
    }
    PinGroup& group = groups_.back();
    if (group.blocks.empty() || member.block != group.blocks.back()) {
      ++group.count;
      group.blocks.push_back(member.block);
    }
    group.last_birth = block.birth;
    of_group_.push_back(member.hole);
  }

  std::vector<PinGroup> take() {
    close();
    return std::move(groups_);
  }

 private:
  // Sums up the holes of the newest group.
  void close() {
    std::ranges::sort(of_group_);
    of_group_.erase(std::unique(of_group_.begin(), of_group_.end()), of_group_.end());
    for (const size_t hole : of_group_) {
      groups_.back().hole_bytes += holes_[hole].range.bytes();
      groups_.back().resident_hole_bytes += holes_[hole].resident_bytes;
      groups_.back().purgeable_bytes += holes_[hole].purgeable_bytes;
    }
    of_group_.clear();
  }

  const HeapPicture& picture_;
  std::span<const Hole> holes_;
  std::vector<PinGroup> groups_;
  std::vector<size_t> of_group_;  // holes beside members of the newest group
};

std::vector<uint64_t> some_births(std::span<const uint64_t> births) {
  constexpr size_t kMost = 64;
  const size_t step = (births.size() + kMost - 1) / kMost;
  std::vector<uint64_t> some;
  for (size_t i = 0; i < births.size(); i += step) some.push_back(births[i]);
  return some;
}

// A hole, seen from its pin.
struct PinnedHole {
  uint64_t size_bytes;  // of the pin
  uint64_t birth;       // likewise
  uint64_t resident_bytes;
};

// Adds up holes of pins of one size, which come in the order of birth.
PinnedBy sum_up(std::span<const PinnedHole> holes) {
  PinnedBy group{.size_bytes = holes.front().size_bytes,
                 .first_birth = holes.front().birth,
                 .last_birth = holes.back().birth};
  std::vector<uint64_t> births;
  for (const PinnedHole& hole : holes) {
    group.resident_hole_bytes += hole.resident_bytes;
    if (births.empty() || births.back() != hole.birth) births.push_back(hole.birth);
  }
  group.count = births.size();
  group.births = some_births(births);
  return group;
}

}  // namespace

std::vector<PinGroup> rank_pins(const HeapPicture& picture, std::span<const Hole> holes,
                                size_t most) {
  Grouping grouping(picture, holes);
  for (const Member& member : blocks_beside(picture, holes)) grouping.add(member);
  std::vector<PinGroup> groups = grouping.take();
  std::ranges::stable_sort(groups, std::greater(), &PinGroup::resident_hole_bytes);
  if (groups.size() > most) groups.resize(most);
  return groups;
}

std::optional<PinnedBy> main_culprit(const HeapPicture& picture, std::span<const Hole> holes) {
  std::vector<PinnedHole> pinned;
  for (const Hole& hole : holes) {
    const size_t block = hole.resident_bytes == 0 ? kNoBlock : pin_of(picture, hole).block;
    if (block == kNoBlock) continue;
    const LiveBlock& pin = picture.blocks[block];
    pinned.push_back({pin.requested_bytes, pin.birth, hole.resident_bytes});
  }
  std::ranges::sort(pinned, {},
                    [](const PinnedHole& hole) { return std::pair(hole.size_bytes, hole.birth); });
  std::span<const PinnedHole> most;
  uint64_t most_bytes = 0;
  for (auto first = pinned.begin(); first != pinned.end();) {
    uint64_t bytes = 0;
    auto last = first;
    for (; last != pinned.end() && last->size_bytes == first->size_bytes; ++last) {
      bytes += last->resident_bytes;
    }
    if (bytes > most_bytes) {
      most = {first, last};
      most_bytes = bytes;
    }
    first = last;
  }
  if (most.empty()) return std::nullopt;
  return sum_up(most);
}

std::vector<PinningBlock> pinning_blocks(const HeapPicture& picture) {
  std::vector<PinningBlock> pins;
  size_t last = kNoBlock;  // the block of the last pin
  const auto add = [&](size_t block, uint64_t bytes) {
    if (bytes == 0 || block == kNoBlock) return;
    const LiveBlock& pin = picture.blocks[block];
    if (block != last) pins.push_back({pin.birth, pin.requested_bytes, 0});
    pins.back().bytes += bytes;
    last = block;
  };
  // Holes ascend: the block before one is at most the block after the previous one.
  for (const Hole& hole : find_holes(picture)) {
    const bool is_first = hole.before == kNoBlock && !hole.unseen.before;
    const uint64_t before = is_first ? 0 : hole.resident_bytes / 2;
    add(hole.before, before);
    add(hole.after, hole.resident_bytes - before);
  }
  return pins;
}

}  // namespace heaptape::replayer
