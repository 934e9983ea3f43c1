#include "allocators/recorded/recorded_backend.h"

#include <algorithm>

namespace heaptape::allocators {
namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t page_up(uint64_t value) {
  return (value + kPageBytes - 1) & ~(kPageBytes - 1);
}

// glibc malloc.c: a chunk has 8 bytes before the block, is a multiple of 16 and at least 32; a
// chunk with a mapping of its own has 16 bytes before the block and ends with its last page.
constexpr uint64_t kMinMapped = 128 << 10;

bool has_own_mapping(uint64_t address, uint64_t size) {
  return address % kPageBytes == 16 && size >= kMinMapped;
}

uint64_t glibc_usable_bytes(uint64_t address, uint64_t size) {
  if (has_own_mapping(address, size)) return page_up(size + 16) - 16;
  return std::max<uint64_t>(32, (size + 8 + 15) & ~uint64_t{15}) - 8;
}

}  // namespace

RecordedBackend::RecordedBackend(const schema::TapeHeader& header)
    : is_glibc_(schema::is_glibc(header.allocator)) {
  traits_.granule_log2 = is_glibc_ ? 4 : 3;
  traits_.min_hole_bytes = is_glibc_ ? 32 : 8;
  traits_.initial_break = header.initial_break;
}

Placement RecordedBackend::place(const ReplayOp& op, uint64_t address) const {
  if (address == 0) return {};
  return {address,
          is_glibc_ ? glibc_usable_bytes(address, op.size) : std::max<uint64_t>(op.size, 1)};
}

Status RecordedBackend::submit(const ReplayBatch& batch) {
  result_.clear();
  auto sample = batch.samples.begin();
  for (uint32_t i = 0; i < batch.ops.size(); ++i) {
    for (; sample != batch.samples.end() && sample->event <= batch.first_event + i; ++sample) {
      take_sample(i, *sample);
    }
    const ReplayOp& op = batch.ops[i];
    const Placement placement = place(op, batch.recorded_addresses[i]);
    if (op.kind == ReplayKind::kFree || op.kind == ReplayKind::kRealloc) give_up(i, op.slot);
    if (placement.address != 0) cover(i, op.slot, placement);
    result_.placements.push_back(placement);
  }
  for (; sample != batch.samples.end() && !batch.ops.empty(); ++sample) {
    take_sample(static_cast<uint32_t>(batch.ops.size() - 1), *sample);
  }
  return {};
}

Status RecordedBackend::collect(BatchResult& result) {
  result.clear();
  std::swap(result, result_);
  return {};
}

void RecordedBackend::commit(uint32_t op, AddressRange range) {
  committed_.add(range);
  result_.regions.push_back({op, RegionEvent::Kind::kCommit, range});
}

void RecordedBackend::decommit(uint32_t op, AddressRange range) {
  committed_.remove(range);
  result_.regions.push_back({op, RegionEvent::Kind::kDecommit, range});
}

// The block in the slot goes, or moves: its own mapping, if it had one, goes with it.
void RecordedBackend::give_up(uint32_t op, uint32_t slot) {
  const auto chunk = mapped_chunks_.find(slot);
  if (chunk == mapped_chunks_.end()) return;
  decommit(op, chunk->second);
  mapped_chunks_.erase(chunk);
}

// Makes sure that the block lies in committed memory: the allocator may have taken some since the
// last sample.
void RecordedBackend::cover(uint32_t op, uint32_t slot, const Placement& placement) {
  const AddressRange pages{placement.address & ~(kPageBytes - 1),
                           page_up(placement.address + placement.usable_bytes)};
  if (is_glibc_ && has_own_mapping(placement.address, placement.usable_bytes)) {
    mapped_chunks_[slot] = pages;
  }
  if (!committed_.covers(pages)) commit(op, pages);
}

void RecordedBackend::take_sample(uint32_t op, const schema::ProcessSample& sample) {
  ++samples_;
  resident_bytes_ = sample.resident_bytes;
  schema::RegionSet gone = committed_;
  for (const AddressRange& region : sample.regions) gone.remove(region);
  for (const auto& [slot, chunk] : mapped_chunks_) gone.remove(chunk);
  for (const AddressRange& range : gone.ranges()) decommit(op, range);
  for (const AddressRange& region : sample.regions) {
    if (!committed_.covers(region)) commit(op, region);
  }
}

Result<Residency> RecordedBackend::residency(std::span<const AddressRange>) {
  return Residency{resident_bytes_, std::nullopt};
}

}  // namespace heaptape::allocators
