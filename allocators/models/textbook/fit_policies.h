// How sequential-fit heaps choose a hole: first fit, next fit and best fit over one free list in
// address order (Wilson et al., 1995, section 3.5; Knuth, volume 1, section 2.5). Each search is
// charged the holes that a walk of that list examines, including the hit; without a hit, all of
// them.
#pragma once

#include <concepts>
#include <cstdint>
#include <set>
#include <utility>

#include "allocators/models/textbook/hole_tree.h"

namespace heaptape::allocators::textbook {

struct Choice {
  Hole hole;  // none if no hole is large enough
  uint64_t holes_examined = 0;
};

// The free list of a heap, and how it is searched.
template <typename P>
concept FitPolicy = std::default_initializable<P> && requires(P policy, Hole hole, uint64_t bytes) {
  { policy.insert(hole) } -> std::same_as<void>;
  { policy.erase(hole) } -> std::same_as<void>;
  // The second hole replaces the first, at the same place in the order.
  { policy.replace(hole, hole) } -> std::same_as<void>;
  // A hole of at least `bytes`.
  { policy.choose(bytes) } -> std::same_as<Choice>;
  // The hole chosen last now holds a block that ends here.
  { policy.placed(bytes) } -> std::same_as<void>;
  { policy.holes() } -> std::same_as<uint64_t>;
};

// The lowest hole that is large enough.
class FirstFit {
 public:
  void insert(Hole hole) { holes_.insert(hole); }
  void erase(Hole hole) { holes_.erase(hole.address); }
  void replace(Hole from, Hole to) { holes_.replace(from.address, to); }
  Choice choose(uint64_t bytes) {
    const RankedHole found = holes_.lowest_fit(bytes);
    if (found.hole.bytes == 0) return {{}, holes_.count()};
    return {found.hole, found.rank + 1};
  }
  void placed(uint64_t) {}

  uint64_t holes() const { return holes_.count(); }

 private:
  HoleTree holes_;
};

// First fit starting where the last search ended: at the roving pointer, which is after the block
// placed last, or at the hole that now surrounds it.
class NextFit {
 public:
  void insert(Hole hole) {
    holes_.insert(hole);
    follow(hole);
  }
  void erase(Hole hole) { holes_.erase(hole.address); }
  void replace(Hole from, Hole to) {
    holes_.replace(from.address, to);
    follow(to);
  }
  Choice choose(uint64_t bytes) {
    uint64_t skipped = 0;
    const RankedHole ahead = holes_.lowest_fit_from(rover_, bytes, skipped);
    if (ahead.hole.bytes != 0) return {ahead.hole, ahead.rank - skipped + 1};
    const RankedHole wrapped = holes_.lowest_fit(bytes);
    if (wrapped.hole.bytes == 0) return {{}, holes_.count()};
    return {wrapped.hole, holes_.count() - skipped + wrapped.rank + 1};
  }
  void placed(uint64_t end) { rover_ = end; }

  uint64_t holes() const { return holes_.count(); }

 private:
  void follow(Hole hole) {
    if (hole.address < rover_ && rover_ < hole.end()) rover_ = hole.address;
  }

  HoleTree holes_;
  uint64_t rover_ = 0;
};

// The smallest hole that is large enough, the lowest of equals. The walk ends early only at a hole
// of exactly the size.
class BestFit {
 public:
  void insert(Hole hole) {
    holes_.insert(hole);
    by_size_.emplace(hole.bytes, hole.address);
  }
  void erase(Hole hole) {
    holes_.erase(hole.address);
    by_size_.erase({hole.bytes, hole.address});
  }
  void replace(Hole from, Hole to) {
    holes_.replace(from.address, to);
    auto node = by_size_.extract({from.bytes, from.address});
    node.value() = {to.bytes, to.address};
    by_size_.insert(std::move(node));
  }
  Choice choose(uint64_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) return {{}, holes_.count()};
    const Hole hole{best->second, best->first};
    if (hole.bytes != bytes) return {hole, holes_.count()};
    return {hole, holes_.rank(hole.address) + 1};
  }
  void placed(uint64_t) {}

  uint64_t holes() const { return holes_.count(); }

 private:
  HoleTree holes_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // bytes, address
};

static_assert(FitPolicy<FirstFit> && FitPolicy<NextFit> && FitPolicy<BestFit>);

}  // namespace heaptape::allocators::textbook
