#include "allocators/models/runs/small_runs.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace heaptape::allocators::runs {

namespace {

uint32_t take_lowest_region(SmallRun& run) {
  uint32_t word = 0;
  while (run.free_regions[word] == 0) ++word;
  const uint64_t free = run.free_regions[word];
  run.free_regions[word] = free & (free - 1);
  --run.free_count;
  return word * 64 + static_cast<uint32_t>(std::countr_zero(free));
}

}  // namespace

uint64_t SmallRuns::allocate(uint32_t bin_index) {
  Bin& bin = bins_[bin_index];
  if (bin.current == nullptr || bin.current->free_count == 0) [[unlikely]] {
    bin.current = next_run(bin_index);
    if (bin.current == nullptr) return 0;
  }
  const RunGeometry& geometry = kRunGeometries[bin_index];
  const uint64_t region = take_lowest_region(*bin.current);
  return bin.current->address + geometry.first_offset + region * geometry.region_bytes;
}

void SmallRuns::release(SmallRun& run, uint64_t address) {
  const RunGeometry& geometry = kRunGeometries[run.bin];
  const uint64_t offset = address - run.address;
  const uint32_t region = geometry.region_at(offset);
  const uint64_t bit = uint64_t{1} << (region % 64);
  HEAPTAPE_CHECK(offset == geometry.first_offset + uint64_t{region} * geometry.region_bytes);
  HEAPTAPE_CHECK(region < geometry.region_count && (run.free_regions[region / 64] & bit) == 0);
  run.free_regions[region / 64] |= bit;
  ++run.free_count;
  if (run.free_count == geometry.region_count) {
    drop(run);
  } else if (run.free_count == 1) {
    offer(run);
  }
}

SmallRun* SmallRuns::next_run(uint32_t bin_index) {
  Bin& bin = bins_[bin_index];
  if (bin.others.empty()) return new_run(bin_index);
  ++runs_reused_;
  SmallRun& lowest = map_.run(*bin.others.begin());
  bin.others.erase(bin.others.begin());
  return &lowest;
}

SmallRun* SmallRuns::new_run(uint32_t bin_index) {
  const RunGeometry& geometry = kRunGeometries[bin_index];
  const uint64_t address = pages_.allocate(geometry.pages, PageUse::kSmallRun);
  if (address == 0) return nullptr;
  ++runs_created_;
  SmallRun& run = map_.run(address);
  run.address = address;
  run.bin = bin_index;
  run.free_count = geometry.region_count;
  for (uint32_t word = 0; word * 64 < geometry.region_count; ++word) {
    const uint32_t bits = std::min(geometry.region_count - word * 64, 64u);
    run.free_regions[word] = ~uint64_t{0} >> (64 - bits);
  }
  return &run;
}

// A wholly free run is given back, even the current one.
void SmallRuns::drop(SmallRun& run) {
  Bin& bin = bins_[run.bin];
  if (bin.current == &run) {
    bin.current = nullptr;
  } else {
    HEAPTAPE_CHECK(bin.others.erase(run.address) == 1);
  }
  pages_.release(run.address);
}

// A full run now has a free region. The lower of it and the current run becomes current.
void SmallRuns::offer(SmallRun& run) {
  Bin& bin = bins_[run.bin];
  if (bin.current == &run) return;
  if (bin.current == nullptr) {
    bin.current = &run;
  } else if (run.address < bin.current->address) {
    if (bin.current->free_count > 0) bin.others.insert(bin.current->address);
    bin.current = &run;
  } else {
    bin.others.insert(run.address);
  }
}

}  // namespace heaptape::allocators::runs
