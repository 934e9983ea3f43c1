#include "replayer/metrics/growth_chains.h"

#include <algorithm>
#include <utility>

namespace heaptape::replayer {
namespace {

// Between equals, the one that began first.
bool costs_more(const GrowthChain& a, const GrowthChain& b) {
  if (a.copied_bytes != b.copied_bytes) return a.copied_bytes > b.copied_bytes;
  return a.length != b.length ? a.length > b.length : a.birth < b.birth;
}

bool is_longer(const GrowthChain& a, const GrowthChain& b) {
  return a.length != b.length ? a.length > b.length : costs_more(a, b);
}

template <typename Before>
void offer(std::vector<GrowthChain>& list, const GrowthChain& chain, Before before) {
  if (list.size() == GrowthChains::kNamed) {
    if (!before(chain, list.back())) return;
    list.pop_back();
  }
  list.insert(std::ranges::upper_bound(list, chain, before), chain);
}

}  // namespace

uint32_t GrowthChains::on_resize(uint32_t number, uint64_t call, uint32_t owner,
                                 const Resize& resize) {
  ++(resize.moved ? moved_ : in_place_);
  moved_bytes_ += resize.copied_bytes();
  if (number == kNone) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<uint32_t>(open_.size()));
      open_.emplace_back();
    }
    number = unused_.back();
    unused_.pop_back();
    open_[number] = {.birth = call,
                     .thread = owner,
                     .from_bytes = resize.old_bytes,
                     .to_bytes = resize.old_bytes};
  }
  GrowthChain& chain = open_[number];
  chain.to_bytes = std::max(chain.to_bytes, resize.new_bytes);
  chain.length += resize.new_bytes > resize.old_bytes;
  chain.copied_bytes += resize.copied_bytes();
  return number;
}

void GrowthChains::on_release(uint32_t number) {
  close(std::exchange(open_[number], {}));
  unused_.push_back(number);
}

void GrowthChains::close(const GrowthChain& chain) {
  if (chain.length < kLeastLength) return;
  ++count_;
  growths_ += chain.length;
  copied_bytes_ += chain.copied_bytes;
  offer(costliest_, chain, costs_more);
  offer(longest_, chain, is_longer);
}

void GrowthChains::finish() {
  for (const GrowthChain& chain : open_) close(chain);
  open_ = {};
  unused_ = {};
}

}  // namespace heaptape::replayer
