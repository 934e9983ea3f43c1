#include "scenarios/heap_writer.h"

#include <algorithm>
#include <optional>

#include "base/address/pages.h"

namespace heaptape::scenarios {
namespace {

using schema::Op;

[[noreturn]] void stop_for_want_of_addresses() {
  throw Stopped{base::Error::usage(
      "the blocks of this scenario need more than the 2^57 addresses of a tape: ask for fewer or "
      "smaller blocks")};
}

}  // namespace

uint64_t HeapWriter::take(uint64_t size, uint64_t alignment) {
  // Without this, a scenario would continue on a full disk.
  if (!tape_.status().ok()) throw Stopped{tape_.status().error()};
  const std::optional<uint64_t> place = places_.take(size, alignment);
  if (!place) stop_for_want_of_addresses();
  return *place;
}

Block HeapWriter::allocate(Op op, uint64_t size, uint64_t alignment) {
  const uint64_t multiple =
      op == Op::kValloc ? base::kPageBytes : std::max<uint64_t>(alignment, 16);
  const Block block{take(size, multiple), size};
  tape_.append({op, thread_, size, alignment, block.address, 0});
  return block;
}

void HeapWriter::realloc(Block& block, uint64_t size) {
  if (!tape_.status().ok()) throw Stopped{tape_.status().error()};
  const std::optional<uint64_t> place = places_.resize(block.address, block.size, size);
  if (!place) stop_for_want_of_addresses();
  tape_.append({Op::kRealloc, thread_, size, 0, *place, block.address});
  block = {*place, size};
}

void HeapWriter::free(Block& block) {
  tape_.append({Op::kFree, thread_, 0, 0, 0, block.address});
  places_.give_back(block.address, block.size);
  block = {};
}

void HeapWriter::free_null() {
  tape_.append({Op::kFree, thread_, 0, 0, 0, 0});
}

}  // namespace heaptape::scenarios
