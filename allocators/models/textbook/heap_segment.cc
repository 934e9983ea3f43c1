#include "allocators/models/textbook/heap_segment.h"

#include <utility>

namespace heaptape::allocators::textbook {

base::Parameter grow_parameter(uint64_t default_bytes) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 40;
  return {"grow_bytes", default_bytes, "steps by which the heap grows, in whole pages", {}, 1,
          kMostBytes};
}

base::Parameter trim_parameter() {
  return {"trim", 0, "free bytes at the end of the heap that trigger a trim; 0: never"};
}

base::Parameter number_choice(std::string name, uint64_t value, std::string description,
                              std::span<const uint64_t> numbers) {
  base::Parameter parameter{std::move(name), value, std::move(description)};
  for (const uint64_t number : numbers) parameter.choices.push_back(std::to_string(number));
  return parameter;
}

HeapSegment::HeapSegment(AddressSpace& space, uint64_t grow_bytes)
    : space_(space), grow_bytes_(page_up(grow_bytes)) {}

uint64_t HeapSegment::step_at(uint64_t address) const {
  return begin() + (address - begin() + grow_bytes_ - 1) / grow_bytes_ * grow_bytes_;
}

bool HeapSegment::reach(uint64_t end, const CommitRule& rule) {
  if (end <= end_) return true;
  const uint64_t new_end = step_at(end);
  if (new_end > kHeapLimit) return false;
  space_.commit({end_, new_end}, rule);
  end_ = new_end;
  ++grows_;
  return true;
}

void HeapSegment::shrink(uint64_t end) {
  const uint64_t new_end = step_at(end);
  if (new_end >= end_) return;
  space_.decommit({new_end, end_});
  end_ = new_end;
  ++shrinks_;
}

void HeapSegment::append_counters(std::vector<Counter>& counters) const {
  counters.push_back({"heapGrows", grows_});
  counters.push_back({"heapShrinks", shrinks_});
}

}  // namespace heaptape::allocators::textbook
