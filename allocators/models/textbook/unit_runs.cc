#include "allocators/models/textbook/unit_runs.h"

#include <algorithm>

namespace heaptape::allocators::textbook {

UnitRuns::UnitRuns(AddressSpace& space, uint64_t unit_bytes, uint64_t grow_bytes,
                   uint64_t trim_bytes)
    : unit_bytes_(unit_bytes),
      trim_bytes_(trim_bytes),
      // A whole number of units, so that the segment ends where a run could.
      segment_(space, round_up(std::max(grow_bytes, unit_bytes), unit_bytes)) {}

uint64_t UnitRuns::allocate(uint64_t bytes, uint64_t alignment, const CommitRule& rule) {
  alignment = std::max(alignment, unit_bytes_);
  const uint64_t run = run_bytes(bytes);
  const uint64_t slack = alignment - unit_bytes_;
  if (const uint64_t address = free_.take_best(run, alignment, slack)) return address;
  return grow(run + slack, rule) ? free_.take_best(run, alignment, slack) : 0;
}

bool UnitRuns::grow(uint64_t bytes, const CommitRule& rule) {
  const uint64_t old_end = segment_.end();
  uint64_t begin = old_end;
  if (!free_.by_address().empty()) {
    const auto& [last_begin, last_end] = *free_.by_address().rbegin();
    if (last_end == old_end) begin = last_begin;
  }
  if (!segment_.reach(begin + bytes, rule)) return false;
  free_.insert({old_end, segment_.end()});
  return true;
}

void UnitRuns::release(AddressRange run) {
  free_.insert(run);
  if (trim_bytes_ == 0) return;
  const AddressRange last{free_.by_address().rbegin()->first, free_.by_address().rbegin()->second};
  if (last.end != segment_.end() || last.bytes() < trim_bytes_) return;
  segment_.shrink(last.begin);
  free_.take({segment_.end(), last.end});
}

bool UnitRuns::try_resize_in_place(uint64_t address, uint64_t old_bytes, uint64_t bytes) {
  const uint64_t old_end = address + old_bytes;
  const uint64_t end = address + run_bytes(bytes);
  if (end > old_end) return free_.take({old_end, end});
  if (end < old_end) release({end, old_end});
  return true;
}

}  // namespace heaptape::allocators::textbook
