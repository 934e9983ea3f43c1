#include "allocators/plugin/heap_checks.h"

#include <algorithm>
#include <cstdio>

#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::Edge;

std::string hex(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

// A block fills whole granules, at least one: two that share one overlap. Nothing wraps around.
uint64_t occupied_end(const Placement& block) {
  const uint64_t bytes = std::max<uint64_t>(block.usable_bytes, 1);
  return bytes > UINT64_MAX - block.address ? UINT64_MAX : block.address + bytes;
}

std::string block_text(const Placement& block) {
  return "a block of " + std::to_string(block.usable_bytes) + " usable bytes at " +
         hex(block.address);
}

}  // namespace

std::string range_text(AddressRange range) {
  return hex(range.begin) + " to " + hex(range.end);
}

HeapChecks::HeapChecks(int granule_log2, AddressRange window, Blocks blocks)
    : granule_bytes_(uint64_t{1} << granule_log2),
      window_(window),
      checks_blocks_(blocks == Blocks::kChecked),
      blocks_(granule_log2) {}

bool HeapChecks::fail(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
  return false;
}

const char* HeapChecks::flaw_of(AddressRange pages) const {
  if (pages.begin >= pages.end) return "which is empty";
  if (((pages.begin | pages.end) & (base::kPageBytes - 1)) != 0) {
    return "which are not whole pages of 4096 bytes";
  }
  return nullptr;
}

bool HeapChecks::commit(AddressRange range) {
  if (has_fault()) return false;
  if (const char* flaw = flaw_of(range)) {
    return fail("committed " + range_text(range) + ", " + flaw);
  }
  if (range.begin < window_.begin || range.end > window_.end) {
    return fail("committed " + range_text(range) + ", which lies outside of the window " +
                range_text(window_));
  }
  if (committed_.overlaps(range)) {
    return fail("committed " + range_text(range) + ", some of which is committed already");
  }
  committed_.add(range);
  return true;
}

bool HeapChecks::decommit(AddressRange range) {
  if (has_fault()) return false;
  if (const char* flaw = flaw_of(range)) {
    return fail("decommitted " + range_text(range) + ", " + flaw);
  }
  if (!committed_.covers(range)) {
    return fail("decommitted " + range_text(range) + ", not all of which is committed");
  }
  if (const AddressRange block = block_in(range); block.begin != block.end) {
    return fail("decommitted " + range_text(range) + " under the live block at " +
                range_text(block));
  }
  committed_.remove(range);
  return true;
}

AddressRange HeapChecks::block_in(AddressRange range) const {
  const Edge edge = blocks_.find_from(blocks_.start_at(range.begin));
  const Edge start = base::is_start(edge) ? edge : blocks_.find_before(edge);
  if (blocks_.address_of(start) >= range.end) return {};
  return {blocks_.address_of(start), blocks_.address_of(blocks_.find_from(start + 1))};
}

bool HeapChecks::place(const Placement& block, uint64_t size, uint64_t alignment) {
  if (!checks_blocks_) {
    ++live_blocks_;
    return true;
  }
  const uint64_t mask = std::max(alignment, granule_bytes_) - 1;
  const AddressRange occupied = {block.address, occupied_end(block)};
  if ((block.address & mask) != 0 || block.usable_bytes < size || !committed_.covers(occupied))
      [[unlikely]] {
    return misplaced(block, size, alignment);
  }
  if (!fits_in_gap(occupied)) [[unlikely]] {
    return fail("placed " + block_text(block) + ", over the live block at " +
                range_text(block_in(occupied)));
  }
  ++live_blocks_;
  return true;
}

bool HeapChecks::misplaced(const Placement& block, uint64_t size, uint64_t alignment) {
  if (block.usable_bytes < size) {
    return fail("placed " + block_text(block) + " for a request of " + std::to_string(size));
  }
  const uint64_t wanted = std::max(alignment, granule_bytes_);
  if ((block.address & (wanted - 1)) != 0) {
    return fail("placed " + block_text(block) + ", which is not a multiple of " +
                std::to_string(wanted));
  }
  return fail("placed " + block_text(block) + ", not all of which is committed");
}

bool HeapChecks::fits_in_gap(AddressRange block) {
  const Edge start = blocks_.start_at(block.begin);
  const Edge end = blocks_.start_at(block.end - 1) + 1;
  const Edge next = blocks_.find_from(start);
  if (!base::is_start(next) || next < end) return false;
  blocks_.insert(start);
  blocks_.insert(end);
  return true;
}

AddressRange HeapChecks::take(uint64_t address) {
  --live_blocks_;
  if (!checks_blocks_) return {address, address};
  const Edge start = blocks_.start_at(address);
  const Edge end = blocks_.find_from(start + 1);
  blocks_.erase(start);
  blocks_.erase(end);
  return {address, blocks_.address_of(end)};
}

bool HeapChecks::put_back(AddressRange block) {
  if (checks_blocks_ && !(committed_.covers(block) && fits_in_gap(block))) {
    return fail("refused to resize the live block at " + range_text(block) +
                ", but decommitted its memory");
  }
  ++live_blocks_;
  return true;
}

bool HeapChecks::absent(std::span<const AddressRange> ranges) {
  uint64_t end = 0;
  for (const AddressRange range : ranges) {
    const std::string what = "called " + range_text(range) + " absent, ";
    if (const char* flaw = flaw_of(range)) return fail(what + flaw);
    if (range.begin < end) return fail(what + "which is not above the stretch before it");
    if (!committed_.covers(range)) return fail(what + "not all of which is committed");
    if (const AddressRange block = block_in(range); block.begin != block.end) {
      return fail(what + "where the live block at " + range_text(block) + " is");
    }
    end = range.end;
  }
  return true;
}

}  // namespace heaptape::allocators
