// Unused address ranges, coalesced, found by address and by size.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "allocators/backend.h"

namespace heaptape::allocators {

class FreeExtents {
 public:
  // `range` must not overlap one already held.
  void insert(AddressRange range);

  // All cut out `bytes` at a multiple of `alignment` and return where, or 0.
  //   best:   from the smallest range that has `bytes` and `slack_bytes`, the lowest of several;
  //           with that much slack the caller knows that any placement fits.
  //   lowest, highest: at the lowest or highest address possible. Linear in the ranges that are too
  //           small.
  uint64_t take_best(uint64_t bytes, uint64_t alignment, uint64_t slack_bytes);
  uint64_t take_lowest(uint64_t bytes, uint64_t alignment);
  uint64_t take_highest(uint64_t bytes, uint64_t alignment);

  // Cuts out exactly `range`; false if part of it is missing.
  bool take(AddressRange range);

  uint64_t total_bytes() const { return total_bytes_; }
  // begin -> end, ascending.
  const std::map<uint64_t, uint64_t>& by_address() const { return by_address_; }

 private:
  using ByAddress = std::map<uint64_t, uint64_t>;

  void add(AddressRange range);
  void remove(ByAddress::iterator extent);
  void cut(ByAddress::iterator extent, AddressRange taken);

  ByAddress by_address_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // bytes, begin
  uint64_t total_bytes_ = 0;
};

}  // namespace heaptape::allocators
