#include "scenarios/heap_writer.h"

#include <algorithm>
#include <bit>

#include "base/address/address_range.h"
#include "base/address/pages.h"

namespace heaptape::scenarios {
namespace {

using base::round_up;
using schema::Op;

// Rounds small blocks to 16 bytes and larger ones to an eighth of their octave, so that the places
// of a growing block are reused.
uint64_t room_of(uint64_t size) {
  const uint64_t least = round_up(size + 8, 16);
  const int step_log2 = std::max<int>(4, std::bit_width(least) - 4);
  return round_up(least, uint64_t{1} << step_log2);
}

[[noreturn]] void stop_for_want_of_addresses() {
  throw Stopped{base::Error::usage(
      "the blocks of this scenario need more than the 2^57 addresses of a tape: ask for fewer or "
      "smaller blocks")};
}

}  // namespace

uint64_t HeapWriter::take(uint64_t size, uint64_t alignment) {
  // Without this a scenario would run on over a full disk.
  if (!tape_.status().ok()) throw Stopped{tape_.status().error()};
  if (size > base::kAddressLimit) stop_for_want_of_addresses();
  const uint64_t room = room_of(size);
  std::vector<uint64_t>& free = free_[room];
  // A few are enough: blocks of one size mostly have one alignment.
  const size_t look = std::min<size_t>(free.size(), 8);
  for (size_t i = 0; i < look; ++i) {
    const size_t at = free.size() - 1 - i;
    if (free[at] % alignment != 0) continue;
    const uint64_t address = free[at];
    free.erase(free.begin() + static_cast<ptrdiff_t>(at));
    return address;
  }
  const uint64_t address = round_up(next_, alignment);
  if (room > base::kAddressLimit - address) stop_for_want_of_addresses();
  next_ = address + room;
  return address;
}

Block HeapWriter::allocate(Op op, uint64_t size, uint64_t alignment) {
  const uint64_t multiple =
      op == Op::kValloc ? base::kPageBytes : std::max<uint64_t>(alignment, 16);
  const Block block{take(size, multiple), size};
  tape_.append({op, thread_, size, alignment, block.address, 0});
  return block;
}

void HeapWriter::realloc(Block& block, uint64_t size) {
  uint64_t address = block.address;
  if (size > base::kAddressLimit || room_of(size) != room_of(block.size)) {
    address = take(size, 16);
    free_[room_of(block.size)].push_back(block.address);
  }
  tape_.append({Op::kRealloc, thread_, size, 0, address, block.address});
  block = {address, size};
}

void HeapWriter::free(Block& block) {
  tape_.append({Op::kFree, thread_, 0, 0, 0, block.address});
  free_[room_of(block.size)].push_back(block.address);
  block = {};
}

void HeapWriter::free_null() {
  tape_.append({Op::kFree, thread_, 0, 0, 0, 0});
}

}  // namespace heaptape::scenarios
