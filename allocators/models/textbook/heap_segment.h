// The single stretch of memory that a textbook heap lives in: it begins at kModelBase and grows
// upward in whole steps, as a heap over sbrk does. The part between its last block and its end is
// the wilderness (Wilson, Johnstone, Neely, Boles, "Dynamic Storage Allocation: A Survey and
// Critical Review", 1995, section 3.5).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "allocators/models/model.h"

namespace heaptape::allocators::textbook {

// Other parts of the address space begin here. No larger request can be served.
inline constexpr uint64_t kHeapLimit = kWrapperBase;
// The parameters that textbook heaps have in common.
base::Parameter grow_parameter(uint64_t default_bytes);
base::Parameter trim_parameter();
// A choice of numbers; `value` is the index of the default, options[name] the index of a number.
base::Parameter number_choice(std::string name, uint64_t value, std::string description,
                              std::span<const uint64_t> numbers);

class HeapSegment {
 public:
  // Steps are rounded up to whole pages.
  HeapSegment(AddressSpace& space, uint64_t grow_bytes);

  static constexpr uint64_t begin() { return kModelBase; }
  uint64_t end() const { return end_; }

  // Raises the end to the first step at or above `end`. False if there is no room.
  bool reach(uint64_t end, const CommitRule& rule = kNoRule);
  // Lowers the end to that step if the end is higher.
  void shrink(uint64_t end);

  void append_counters(std::vector<Counter>& counters) const;

 private:
  uint64_t step_at(uint64_t address) const;

  AddressSpace& space_;
  uint64_t grow_bytes_;
  uint64_t end_ = kModelBase;
  uint64_t grows_ = 0;
  uint64_t shrinks_ = 0;
};

}  // namespace heaptape::allocators::textbook
