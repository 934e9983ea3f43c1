#include "allocators/recorded/recorded_backend.h"

#include <algorithm>

#include "base/address/address_range.h"
#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using base::page_down;
using base::page_up;

// glibc malloc.c and arena.c: a chunk has 8 bytes before the block, is a multiple of 16 and at
// least 32; a chunk with a mapping of its own has 16 bytes before the block and ends with its last
// page; a thread's arena begins on a multiple of HEAP_MAX_SIZE.
constexpr uint64_t kMinMapped = 128 << 10;
constexpr uint64_t kArenaAlignment = 64 << 20;

// A new heap of a thread's arena has less beyond its blocks: its data, and DEFAULT_TOP_PAD.
constexpr uint64_t kMostOfNewArena = 256 << 10;

uint64_t heap_chunk_usable_bytes(uint64_t size) {
  return std::max<uint64_t>(32, base::round_up(size + 8, 16)) - 8;
}

}  // namespace

RecordedBackend::RecordedBackend(const schema::TapeHeader& header, Began began)
    : is_glibc_(header.allocator_family() == "glibc"),
      is_late_(began == Began::kLate),
      traits_(BackendTraits::of_malloc(is_glibc_ ? MallocFamily::kGlibc : MallocFamily::kOther,
                                       header.initial_break)) {
  if (header.origin.lacks(schema::Absent::kAddresses)) addressless_format_ = header.origin.format;
}

Result<std::vector<RegionEvent>> RecordedBackend::start() {
  if (addressless_format_.empty()) return std::vector<RegionEvent>();
  return base::Error::usage(
      "addresses are not in this trace, which was imported from '" + addressless_format_ +
      "': there is no recorded heap to play back; use another allocator, such as -a glibc");
}

// A block 16 bytes into a page may also lie in the heap or in an arena: one large block in 256
// there does, once freed mappings have raised glibc's threshold.
bool RecordedBackend::has_own_mapping(uint64_t address, uint64_t size) const {
  if (!is_glibc_ || address % kPageBytes != 16 || size < kMinMapped) return false;
  if (traits_.initial_break != 0 && address - traits_.initial_break < kHeapSpanBytes) return false;
  const uint64_t begin = address - 16;
  base::AddressRange around = committed_.find(begin);
  if (around.bytes() == 0) around = committed_.find(begin - 1);
  return around.bytes() == 0 || around.begin % kArenaAlignment != 0;
}

Placement RecordedBackend::place(uint32_t op, const ReplayOp& what, uint64_t address) {
  if (address == 0) return {};
  // No real block ends beyond the address space; a hostile tape's may.
  const uint64_t size = std::clamp<uint64_t>(what.size, 1, base::kAddressLimit - address);
  Placement placement{address, size};
  const bool is_mapped = has_own_mapping(address, size);
  if (is_mapped) {
    placement.usable_bytes = page_up(size + 16) - 16;
  } else if (is_glibc_) {
    placement.usable_bytes = heap_chunk_usable_bytes(size);
  }
  const AddressRange pages{page_down(address), page_up(address + placement.usable_bytes)};
  if (is_mapped) mapped_chunks_[what.slot] = pages;
  // The allocator may have taken memory since the last sample.
  if (!committed_.covers(pages)) {
    if (is_late_ && !is_mapped && may_be_old(pages)) [[unlikely]] {
      commit_new(op, pages);
    } else {
      commit(op, pages);
    }
  }
  return placement;
}

Status RecordedBackend::submit(const ReplayBatch& batch) {
  result_.clear();
  auto sample = batch.samples.begin();
  const auto take_samples = [&](uint32_t op, uint64_t until_event) {
    for (; sample != batch.samples.end() && sample->event <= until_event; ++sample) {
      take_sample(op, *sample);
    }
  };
  take_samples(0, batch.first_event);
  for (uint32_t i = 0; i < batch.ops.size(); ++i) {
    const ReplayOp& op = batch.ops[i];
    if (op.kind == ReplayKind::kFree || op.kind == ReplayKind::kRealloc) give_up(i, op.slot);
    result_.placements.push_back(place(i, op, batch.recorded_addresses[i]));
    take_samples(i, batch.first_event + i + 1);  // a sample belongs to the event that it follows
  }
  take_samples(static_cast<uint32_t>(batch.ops.size()), UINT64_MAX);
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

void RecordedBackend::commit_new(uint32_t op, AddressRange range) {
  base::RegionSet added;
  added.add(range);
  committed_.for_each_touching(range, [&added](AddressRange region) { added.remove(region); });
  committed_.add(range);
  for (const AddressRange& part : added.ranges()) {
    result_.regions.push_back({op, RegionEvent::Kind::kCommit, part, {}, true});
  }
}

bool RecordedBackend::may_be_old(AddressRange range) const {
  if (sampled_.bytes() == 0) return true;
  bool has_grown = false;
  sampled_.for_each_touching(range, [&has_grown](AddressRange) { has_grown = true; });
  if (has_grown) return false;
  uint64_t new_bytes = range.bytes();
  committed_.for_each_touching(range, [&new_bytes, range](AddressRange region) {
    new_bytes -= base::common_part(region, range).bytes();
  });
  return !is_glibc_ || new_bytes > kMostOfNewArena;
}

void RecordedBackend::decommit(uint32_t op, AddressRange range) {
  committed_.remove(range);
  result_.regions.push_back({op, RegionEvent::Kind::kDecommit, range});
}

// The block in the slot goes or moves, and with it its own mapping, if any.
void RecordedBackend::give_up(uint32_t op, uint32_t slot) {
  const auto chunk = mapped_chunks_.find(slot);
  if (chunk == mapped_chunks_.end()) return;
  decommit(op, chunk->second);
  mapped_chunks_.erase(chunk);
}

void RecordedBackend::take_sample(uint32_t op, const schema::ProcessSample& sample) {
  ++samples_;
  if (sample.parts.malloc_bytes) {
    resident_bytes_ = *sample.parts.malloc_bytes;
    knows_mallocs_part_ = true;
  } else if (!knows_mallocs_part_) {
    resident_bytes_ = sample.resident_bytes;
  }
  base::RegionSet gone = committed_;
  for (const AddressRange& region : sample.regions) gone.remove(region);
  for (const auto& [slot, chunk] : mapped_chunks_) gone.remove(chunk);
  for (const AddressRange& range : gone.ranges()) decommit(op, range);
  for (const AddressRange& region : sample.regions) {
    if (committed_.covers(region)) continue;
    if (is_late_ && may_be_old(region)) [[unlikely]] {
      commit_new(op, region);
    } else {
      commit(op, region);
    }
  }
  if (!is_late_ || sample.regions.empty()) return;
  sampled_ = {};
  for (const AddressRange& region : sample.regions) sampled_.add(region);
}

Result<Residency> RecordedBackend::residency(std::span<const AddressRange>) {
  return Residency{resident_bytes_, std::nullopt};
}

}  // namespace heaptape::allocators
