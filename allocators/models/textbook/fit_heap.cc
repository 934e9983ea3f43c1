#include "allocators/models/textbook/fit_heap.h"

namespace heaptape::allocators::textbook {

template <FitPolicy Policy>
std::vector<base::Parameter> FitHeap<Policy>::parameters() {
  std::vector<base::Parameter> list = BlockShape::parameters();
  list.push_back(grow_parameter(64 << 10));
  list.push_back(trim_parameter());
  return list;
}

// If the alignment is larger than every block's, the hole must be large enough for a leading
// remainder that can be a hole itself.
template <FitPolicy Policy>
Placement FitHeap<Policy>::allocate(uint64_t bytes, uint64_t alignment) {
  const uint64_t block_bytes = shape_.block_bytes(bytes);
  const bool is_aligned = alignment > shape_.alignment();
  const uint64_t slack =
      is_aligned ? alignment + shape_.least_block_bytes() - shape_.alignment() : 0;
  const uint64_t holes = policy_.holes();
  const Choice choice = policy_.choose(block_bytes + slack);
  search_log_.add(holes, choice.holes_examined);
  ++searches_;
  search_steps_ += choice.holes_examined;
  const Hole hole = choice.hole.bytes != 0 ? choice.hole : grow(block_bytes + slack);
  if (hole.bytes == 0) return {};
  uint64_t address = hole.address;
  if (is_aligned) {
    address = round_up(hole.address, alignment);
    while (address != hole.address && address - hole.address < shape_.least_block_bytes()) {
      address += alignment;
    }
  }
  take(hole, address, block_bytes);
  policy_.placed(address + tags_.bytes(address));
  return {address, usable_bytes(address)};
}

// The last hole, made large enough; none if there is no room. It is not searched for: the new
// memory goes to the request that it was taken for.
template <FitPolicy Policy>
Hole FitHeap<Policy>::grow(uint64_t bytes) {
  const Hole last = hole_before(end_);
  const uint64_t begin = last.bytes == 0 ? end_ : last.address;
  if (!segment_.reach(begin + bytes - shape_.header_bytes())) return {};
  const Hole grown{begin, shape_.blocks_end(segment_.end()) - begin};
  end_ = grown.end();
  tags_.set_free(grown);
  if (last.bytes == 0) {
    policy_.insert(grown);
  } else {
    policy_.replace(last, grown);
  }
  return grown;
}

// Makes a block of `bytes` in the hole; the parts before and after it become holes.
template <FitPolicy Policy>
void FitHeap<Policy>::take(Hole hole, uint64_t address, uint64_t bytes) {
  const Hole lead{hole.address, address - hole.address};
  Hole rest{address + bytes, hole.end() - address - bytes};
  if (rest.bytes < shape_.least_rest_bytes()) {
    bytes += rest.bytes;
    rest.bytes = 0;
  }
  tags_.set_used(address, bytes);
  if (rest.bytes != 0) tags_.set_free(rest);
  if (lead.bytes != 0) {
    tags_.set_free(lead);
    policy_.replace(hole, lead);
    if (rest.bytes != 0) policy_.insert(rest);
  } else if (rest.bytes != 0) {
    policy_.replace(hole, rest);
  } else {
    policy_.erase(hole);
  }
  splits_ += (lead.bytes != 0) + (rest.bytes != 0);
}

template <FitPolicy Policy>
void FitHeap<Policy>::release(uint64_t address) {
  const Hole hole = join({address, tags_.bytes(address)});
  tags_.set_free(hole);
  if (trim_bytes_ != 0 && hole.end() == end_ && hole.bytes >= trim_bytes_) trim(hole);
}

// Enters the freed block in the free list, merged with the holes beside it.
template <FitPolicy Policy>
Hole FitHeap<Policy>::join(Hole freed) {
  const Hole before = hole_before(freed.address);
  const Hole behind = hole_behind(freed.end());
  const Hole whole{freed.address - before.bytes, before.bytes + freed.bytes + behind.bytes};
  if (before.bytes != 0) {
    if (behind.bytes != 0) policy_.erase(behind);
    policy_.replace(before, whole);
  } else if (behind.bytes != 0) {
    policy_.replace(behind, whole);
  } else {
    policy_.insert(whole);
  }
  merges_ += (before.bytes != 0) + (behind.bytes != 0);
  return whole;
}

// Gives back whole steps at the end of the heap, unless that leaves too small a hole.
template <FitPolicy Policy>
void FitHeap<Policy>::trim(Hole last) {
  segment_.shrink(last.address + shape_.least_block_bytes());
  const uint64_t end = shape_.blocks_end(segment_.end());
  if (end == end_) return;
  const Hole left{last.address, end - last.address};
  tags_.set_free(left);
  policy_.replace(last, left);
  end_ = end;
}

// In place if the block becomes smaller, or the hole after it has the room.
template <FitPolicy Policy>
bool FitHeap<Policy>::try_resize_in_place(uint64_t address, uint64_t bytes) {
  const uint64_t wanted = shape_.block_bytes(bytes);
  const uint64_t had = tags_.bytes(address);
  if (wanted > had) {
    const Hole behind = hole_behind(address + had);
    if (behind.bytes < wanted - had) return false;
    take(behind, behind.address, wanted - had);
    tags_.set_used(address, had + tags_.bytes(behind.address));
  } else if (had - wanted >= shape_.least_rest_bytes()) {
    tags_.set_used(address, wanted);
    tags_.set_used(address + wanted, had - wanted);
    ++splits_;
    release(address + wanted);
  }
  return true;
}

template <FitPolicy Policy>
void FitHeap<Policy>::append_counters(std::vector<Counter>& counters) const {
  counters.insert(counters.end(), {{"searches", searches_},
                                   {"searchSteps", search_steps_},
                                   {"splits", splits_},
                                   {"merges", merges_}});
  segment_.append_counters(counters);
}

template class FitHeap<FirstFit>;
template class FitHeap<NextFit>;
template class FitHeap<BestFit>;

}  // namespace heaptape::allocators::textbook
