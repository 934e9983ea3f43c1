// Where an allocator finds the next block: among those that were freed last. docs/tape-format.md,
// "Free lists".
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schema/tape/column_codec.h"
#include "schema/tape/size_classes.h"

namespace heaptape::schema {

// The blocks of one chunk that were given up and not handed out again, by thread context and size
// class, the latest first. Codes a new block as its place among the latest of its list, or else as
// the distance from the last block of its class. Both ends of a tape do the same with it.
// Memory: 8 to 16 bytes for each time a block was given up, and 8 KiB for each context that
// occurred; none after reset().
class FreeLists {
 public:
  static constexpr size_t kPlaces = 16;

  // The lists of the thread's context: valid until another context is asked for.
  struct List {
    std::vector<uint64_t> freed;
    uint64_t last = 0;  // block handed out
  };
  using Lists = std::array<List, kMostSizeClasses>;
  Lists& of(uint32_t thread) {
    const size_t context = thread_context(thread);
    if (context >= contexts_.size()) contexts_.resize(context + 1);
    return contexts_[context];
  }

  // The code of the block that is handed out from `list`: NULL if it is 0. It is looked for only if
  // it may be there.
  uint64_t encode(List& list, uint64_t address, int unit_log2, bool may_be_listed) {
    if (address == 0) [[unlikely]]
      return 0;
    const size_t size = list.freed.size();
    const size_t places = may_be_listed ? std::min(size, kPlaces) : 0;
    const uint64_t* const end = list.freed.data() + size;
    const uint64_t predicted = list.last != 0 ? list.last : last_any_;
    list.last = last_any_ = address;
    for (size_t place = 0; place < places; ++place) {
      if (*(end - 1 - place) != address) continue;
      take(list, place);
      return 1 + place;
    }
    return kPlaces + AddressCode::encode(address, predicted, unit_log2);
  }
  // False for a place that the list does not have, and for NULL by any code but 0.
  bool decode(List& list, uint64_t code, int unit_log2, uint64_t& address) {
    address = 0;
    if (code == 0) [[unlikely]]
      return true;
    const size_t size = list.freed.size();
    if (code > kPlaces) {
      const uint64_t predicted = list.last != 0 ? list.last : last_any_;
      address = AddressCode::decode(code - kPlaces, predicted, unit_log2);
    } else if (code <= size) {
      address = list.freed[size - code];
      take(list, code - 1);
    } else {
      return false;
    }
    list.last = last_any_ = address;
    return address != 0;
  }

  void reset() { *this = FreeLists(); }

 private:
  // Removes the block that `place` later ones are in front of.
  static void take(List& list, size_t place) {
    uint64_t* const at = list.freed.data() + list.freed.size() - 1 - place;
    for (size_t i = 0; i < place; ++i) at[i] = at[i + 1];
    list.freed.pop_back();
  }

  std::vector<Lists> contexts_;
  uint64_t last_any_ = 0;  // block handed out
};

}  // namespace heaptape::schema
