// What the checks of a plug-in find, found the plainest way: lists that are walked from end to end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address/address_range.h"

namespace heaptape::fuzz {

using base::AddressRange;

// Each question answers whether the call is right; each right call is then taken in by hand.
class PlainHeap {
 public:
  PlainHeap(uint64_t granule_bytes, AddressRange window)
      : granule_bytes_(granule_bytes), window_(window) {}

  std::vector<AddressRange> committed;  // in no order, apart from each other
  std::vector<AddressRange> blocks;     // whole granules

  bool may_commit(AddressRange range) const {
    return is_pages(range) && range.begin >= window_.begin && range.end <= window_.end &&
           !meets(committed, range);
  }
  bool may_decommit(AddressRange range) const {
    return is_pages(range) && is_committed(range) && !meets(blocks, range);
  }
  bool may_place(uint64_t address, uint64_t usable_bytes, uint64_t size, uint64_t alignment) const {
    const uint64_t bytes = std::max<uint64_t>(usable_bytes, 1);
    if (address > UINT64_MAX - bytes || usable_bytes < size) return false;
    if (address % std::max(alignment, granule_bytes_) != 0) return false;
    return is_committed({address, address + bytes}) && !meets(blocks, granules(address, bytes));
  }
  bool may_be_absent(std::span<const AddressRange> ranges) const {
    uint64_t end = 0;
    for (const AddressRange range : ranges) {
      if (!may_decommit(range) || range.begin < end) return false;
      end = range.end;
    }
    return true;
  }

  AddressRange granules(uint64_t address, uint64_t usable_bytes) const {
    const uint64_t bytes = std::max<uint64_t>(usable_bytes, 1);
    return {address, address + (bytes + granule_bytes_ - 1) / granule_bytes_ * granule_bytes_};
  }

  void remove_committed(AddressRange gone) {
    std::vector<AddressRange> left;
    for (const AddressRange range : committed) {
      if (range.begin < gone.begin) left.push_back({range.begin, std::min(range.end, gone.begin)});
      if (range.end > gone.end) left.push_back({std::max(range.begin, gone.end), range.end});
    }
    committed = left;
  }

  bool is_committed(AddressRange range) const {
    uint64_t at = range.begin;
    while (at < range.end) {
      const auto holds = [at](AddressRange held) { return held.begin <= at && at < held.end; };
      const auto found = std::ranges::find_if(committed, holds);
      if (found == committed.end()) return false;
      at = found->end;
    }
    return true;
  }

 private:
  static bool is_pages(AddressRange range) {
    return range.begin < range.end && range.begin % 4096 == 0 && range.end % 4096 == 0;
  }
  static bool meets(const std::vector<AddressRange>& ranges, AddressRange range) {
    return std::ranges::any_of(ranges, [range](AddressRange other) {
      return other.begin < range.end && range.begin < other.end;
    });
  }

  uint64_t granule_bytes_;
  AddressRange window_;
};

}  // namespace heaptape::fuzz
