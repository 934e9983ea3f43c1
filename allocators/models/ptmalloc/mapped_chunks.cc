#include "allocators/models/ptmalloc/mapped_chunks.h"

#include <algorithm>

#include "allocators/models/ptmalloc/chunk_memory.h"
#include "base/check.h"

namespace heaptape::allocators::ptmalloc {
namespace {

// The end of a mapped chunk has no header whose first field the block could use.
constexpr uint64_t kTailBytes = 8;

constexpr char kMappingGrows[] = "a block that has a mapping keeps one: it grows to % bytes";

}  // namespace

MappedChunks::MappedChunks(AddressSpace& space, Tuning& tuning, Counts& counts)
    : space_(space), tuning_(tuning), counts_(counts) {
  gaps_.insert({kMappingsBase, kMappingsEnd});
}

uint64_t MappedChunks::allocate(uint64_t chunk_bytes, const CommitRule& rule) {
  const uint64_t bytes = page_up(chunk_bytes + kTailBytes);
  const uint64_t address = reserve(bytes);
  if (address == 0) return 0;
  ++counts_.mmap_calls;
  commit(address, bytes, rule);
  latest_ = address + kHeaderBytes;
  chunks_[latest_] = {bytes, 0, bytes};
  return latest_;
}

void MappedChunks::align_latest(uint64_t alignment, uint64_t chunk_bytes) {
  const uint64_t chunk = latest_ - kHeaderBytes;
  uint64_t aligned = round_up(latest_, alignment) - kHeaderBytes;
  if (aligned - chunk < kMinBytes) aligned += alignment;
  auto moved = chunks_.extract(latest_);
  latest_ = aligned + kHeaderBytes;
  moved.key() = latest_;
  moved.mapped().offset = aligned - chunk;
  moved.mapped().used_bytes = aligned - chunk + chunk_bytes + kTailBytes;
  ++aligned_;
  chunks_.insert(std::move(moved));
}

uint64_t MappedChunks::resize(uint64_t block, uint64_t chunk_bytes) {
  const auto found = chunks_.find(block);
  HEAPTAPE_CHECK(found != chunks_.end());
  const Mapping old = found->second;
  const uint64_t bytes = page_up(chunk_bytes + old.offset + kTailBytes);
  const uint64_t used_bytes = std::max(old.used_bytes, old.offset + chunk_bytes + kTailBytes);
  found->second.used_bytes = std::min(used_bytes, bytes);
  if (bytes == old.bytes) return block;
  const uint64_t old_address = block - kHeaderBytes - old.offset;
  if (bytes < old.bytes) {
    ++counts_.mremap_calls;
    unmap(old_address + bytes, old.bytes - bytes);
    found->second.bytes = bytes;
    return block;
  }
  const uint64_t address = reserve(bytes);
  if (address == 0) return 0;
  ++counts_.mremap_calls;
  unmap(old_address, old.bytes);  // before the commit: the pages move and never exist twice
  commit(address, bytes, {kMappingGrows, {bytes}});
  chunks_.erase(found);
  const uint64_t moved = address + old.offset + kHeaderBytes;
  chunks_[moved] = {bytes, old.offset, used_bytes};
  return moved;
}

void MappedChunks::release(uint64_t block) {
  const auto found = chunks_.find(block);
  HEAPTAPE_CHECK(found != chunks_.end());
  const Mapping mapping = found->second;
  chunks_.erase(found);
  aligned_ -= mapping.offset != 0;
  tuning_.note_unmapped(mapping.bytes - mapping.offset);
  ++counts_.munmap_calls;
  unmap(block - kHeaderBytes - mapping.offset, mapping.bytes);
}

uint64_t MappedChunks::usable_bytes(uint64_t block) const {
  const Mapping& mapping = chunks_.at(block);
  return mapping.bytes - mapping.offset - kHeaderBytes;
}

void MappedChunks::append_absent(std::vector<AddressRange>& ranges) const {
  if (aligned_ == 0) return;
  for (const auto& [block, mapping] : chunks_) {
    if (mapping.offset == 0) continue;
    const uint64_t chunk = block - kHeaderBytes;
    const uint64_t begin = chunk - mapping.offset;
    const AddressRange skipped[] = {{begin + kPageBytes, page_down(chunk)},
                                    {begin + page_up(mapping.used_bytes), begin + mapping.bytes}};
    for (const AddressRange& pages : skipped) {
      if (pages.begin < pages.end) ranges.push_back(pages);
    }
  }
}

void MappedChunks::commit(uint64_t address, uint64_t bytes, const CommitRule& rule) {
  mapped_bytes_ += bytes;
  space_.commit({address, address + bytes}, rule);
}

void MappedChunks::unmap(uint64_t address, uint64_t bytes) {
  mapped_bytes_ -= bytes;
  space_.decommit({address, address + bytes});
  gaps_.insert({address, address + bytes});
}

}  // namespace heaptape::allocators::ptmalloc
