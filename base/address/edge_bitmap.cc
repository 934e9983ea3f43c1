#include "base/address/edge_bitmap.h"

#include <algorithm>

#include "base/check.h"

namespace heaptape::base {

EdgeBitmap::EdgeBitmap(int granule_log2)
    : granule_log2_(granule_log2),
      leaf_edges_log2_(kLeafSpanLog2 - granule_log2 + 1),
      leaf_mask_((uint64_t{1} << leaf_edges_log2_) - 1) {
  HEAPTAPE_CHECK(granule_log2 >= 3 && granule_log2 <= 6);
}

bool EdgeBitmap::contains(Edge edge) const {
  const LeafBits* leaf = find_leaf(edge);
  return leaf != nullptr && leaf->contains(bit_of(edge));
}

void EdgeBitmap::insert(Edge edge) {
  insert(leaf_of(edge), edge);
}
void EdgeBitmap::erase(Edge edge) {
  erase(leaf_of(edge), edge);
}

Edge EdgeBitmap::find_from(Edge from) const {
  const LeafBits* leaf = find_leaf(from);
  return leaf != nullptr ? find_from(*leaf, from) : first_after_leaf(from);
}

Edge EdgeBitmap::find_before(Edge limit) const {
  const LeafBits* leaf = find_leaf(limit);
  return leaf != nullptr ? find_before(*leaf, limit) : last_before_leaf(limit);
}

Edge EdgeBitmap::find_gap(Edge from, Edge limit) const {
  if (from >= limit) return kAfterAllEdges;
  const auto find_in = [&](const LeafBits& leaf, Edge begin) {
    const Edge leaf_end = (begin & ~leaf_mask_) + leaf_mask_ + 1;
    const uint64_t bits = std::min(limit, leaf_end) - leaf_begin(begin);
    const uint64_t bit = leaf.find_lone_odd(bit_of(begin), bits);
    return bit == LeafBits::kNone ? kAfterAllEdges : leaf_begin(begin) + bit;
  };
  if (const LeafBits* const leaf = find_leaf(from)) {
    const Edge found = find_in(*leaf, from);
    if (found != kAfterAllEdges) return found;
  }
  for (auto next = leaves_.upper_bound(leaf_key(from)); next != leaves_.end(); ++next) {
    const Edge begin = next->first << leaf_edges_log2_;
    if (begin >= limit) break;
    const Edge found = find_in(*next->second, begin);
    if (found != kAfterAllEdges) return found;
  }
  return kAfterAllEdges;
}

std::optional<EdgeBitmap::Gap> EdgeBitmap::insert_block(Edge start, Edge end) {
  if (leaf_key(start) != leaf_key(end)) [[unlikely]]
    return std::nullopt;
  LeafBits& leaf = leaf_of(start);
  const Gap gap = {find_before(leaf, start), find_from(leaf, start)};
  if (!is_free_between(gap.before, gap.after) || gap.after < end) [[unlikely]]
    return std::nullopt;
  insert(leaf, start);
  insert(leaf, end);
  return gap;
}

std::optional<EdgeBitmap::Gap> EdgeBitmap::erase_block(Edge start, Edge end) {
  if (leaf_key(start) != leaf_key(end + 1)) [[unlikely]]
    return std::nullopt;
  LeafBits& leaf = leaf_of(start);
  const Gap gap = {find_before(leaf, start), find_from(leaf, end + 1)};
  const bool is_whole = leaf.contains(bit_of(start)) && find_from(leaf, start + 1) == end;
  if (!is_free_between(gap.before, gap.after) || !is_whole) [[unlikely]]
    return std::nullopt;
  erase(leaf, start);
  erase(leaf, end);
  return gap;
}

std::optional<Edge> EdgeBitmap::move_end(Edge old_end, Edge new_end) {
  if (leaf_key(old_end) != leaf_key(old_end + 1) || leaf_key(old_end) != leaf_key(new_end))
    return std::nullopt;
  LeafBits& leaf = leaf_of(old_end);
  const Edge before = find_before(leaf, old_end);
  const Edge after = find_from(leaf, old_end + 1);
  const bool is_whole = leaf.contains(bit_of(old_end)) && before < new_end;
  if (!is_whole || !is_start(after) || after < new_end) [[unlikely]]
    return std::nullopt;
  erase(leaf, old_end);
  insert(leaf, new_end);
  return after;
}

inline void EdgeBitmap::insert(LeafBits& leaf, Edge edge) {
  if (leaf.insert(bit_of(edge))) [[unlikely]]
    leaves_.emplace(leaf_key(edge), &leaf);
}

inline void EdgeBitmap::erase(LeafBits& leaf, Edge edge) {
  if (leaf.erase(bit_of(edge))) [[unlikely]]
    leaves_.erase(leaf_key(edge));
}

inline Edge EdgeBitmap::find_from(const LeafBits& leaf, Edge from) const {
  const uint64_t bit = leaf.find_from(bit_of(from));
  if (bit == LeafBits::kNone) [[unlikely]]
    return first_after_leaf(from);
  return leaf_begin(from) + bit;
}

inline Edge EdgeBitmap::find_before(const LeafBits& leaf, Edge limit) const {
  const uint64_t bit = leaf.find_before(bit_of(limit));
  if (bit == LeafBits::kNone) [[unlikely]]
    return last_before_leaf(limit);
  return leaf_begin(limit) + bit;
}

Edge EdgeBitmap::first_after_leaf(Edge edge) const {
  const auto next = leaves_.upper_bound(leaf_key(edge));
  if (next == leaves_.end()) return kAfterAllEdges;
  return (next->first << leaf_edges_log2_) + next->second->first();
}

Edge EdgeBitmap::last_before_leaf(Edge edge) const {
  const auto next = leaves_.lower_bound(leaf_key(edge));
  if (next == leaves_.begin()) return kBeforeAllEdges;
  const auto& [key, leaf] = *std::prev(next);
  return (key << leaf_edges_log2_) + leaf->last();
}

}  // namespace heaptape::base
