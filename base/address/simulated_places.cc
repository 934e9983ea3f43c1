#include "base/address/simulated_places.h"

#include <algorithm>
#include <bit>

#include "base/address/address_range.h"
#include "base/address/pages.h"

namespace heaptape::base {

// Rounds small blocks to 16 bytes and larger ones to an eighth of their octave, so that the places
// of a growing block are reused.
uint64_t SimulatedPlaces::room_of(uint64_t size) {
  const uint64_t least = round_up(size + 8, 16);
  const int step_log2 = std::max<int>(4, std::bit_width(least) - 4);
  return round_up(least, uint64_t{1} << step_log2);
}

std::optional<uint64_t> SimulatedPlaces::take(uint64_t size, uint64_t alignment) {
  if (size > kAddressLimit || alignment > kAddressLimit) return std::nullopt;
  const uint64_t room = room_of(size);
  std::vector<uint64_t>& free = free_[room];
  // A few are enough: blocks of one size usually have the same alignment.
  const size_t look = std::min<size_t>(free.size(), 8);
  for (size_t i = 0; i < look; ++i) {
    const size_t at = free.size() - 1 - i;
    if (free[at] % alignment != 0) continue;
    const uint64_t address = free[at];
    free.erase(free.begin() + static_cast<ptrdiff_t>(at));
    return address;
  }
  const uint64_t address = round_up(next_, alignment);
  if (address > kAddressLimit || room > kAddressLimit - address) return std::nullopt;
  next_ = address + room;
  return address;
}

std::optional<uint64_t> SimulatedPlaces::resize(uint64_t address, uint64_t old_size,
                                                uint64_t size) {
  if (size <= kAddressLimit && room_of(size) == room_of(old_size)) return address;
  const std::optional<uint64_t> place = take(size, 16);
  if (place) give_back(address, old_size);
  return place;
}

}  // namespace heaptape::base
