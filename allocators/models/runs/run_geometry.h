// The constants of model:runs: sizes of pages, chunks and classes, and how a run is cut into
// regions. They are those of mozjemalloc as Firefox ESR 52 shipped it for 64-bit Linux, whose
// sizing rule is restated here in our own words and evaluated by the compiler.
//
//   class   tiny 8 | quantum 16, 32 .. 512 | sub-page 1024, 2048 | large: pages | huge: chunks
//   up to        8 |                   512 |                2048 |    1,040,384 |
//
//   small run   | run header | mask words | unused | region 0 | region 1 | ... | region n-1 |
//                                                  ^ first_offset            end of the run ^
#pragma once

#include <array>
#include <cstdint>

namespace heaptape::allocators::runs {

inline constexpr int kRunPageLog2 = 12;
inline constexpr uint64_t kRunPageBytes = uint64_t{1} << kRunPageLog2;
inline constexpr int kRunChunkLog2 = 20;
inline constexpr uint64_t kRunChunkBytes = uint64_t{1} << kRunChunkLog2;
inline constexpr uint32_t kChunkPages = kRunChunkBytes / kRunPageBytes;
inline constexpr uint32_t kChunkHeaderPages = 2;
inline constexpr uint32_t kLargestRunPages = kChunkPages - kChunkHeaderPages;
inline constexpr uint64_t kLargeMaxBytes = kLargestRunPages * kRunPageBytes;

inline constexpr uint64_t kTinyBytes = 8;
inline constexpr uint64_t kQuantumBytes = 16;
inline constexpr uint64_t kQuantumMaxBytes = 512;
inline constexpr uint64_t kSmallMaxBytes = 2048;
inline constexpr uint32_t kQuantumBins = kQuantumMaxBytes / kQuantumBytes;
inline constexpr uint32_t kBinCount = 1 + kQuantumBins + 2;

// The pages that hold `bytes`, which may be any number.
constexpr uint64_t pages_for(uint64_t bytes) {
  return (bytes >> kRunPageLog2) + ((bytes & (kRunPageBytes - 1)) != 0);
}

// The bin that serves `bytes`, 1 to kSmallMaxBytes.
constexpr uint32_t bin_of(uint64_t bytes) {
  if (bytes > kQuantumMaxBytes)
    return bytes <= 2 * kQuantumMaxBytes ? kBinCount - 2 : kBinCount - 1;
  const auto quanta = static_cast<uint32_t>((bytes + kQuantumBytes - 1) / kQuantumBytes);
  return bytes <= kTinyBytes ? 0 : quanta;
}

constexpr uint32_t region_bytes_of(uint32_t bin) {
  if (bin == 0) return kTinyBytes;
  if (bin <= kQuantumBins) return bin * kQuantumBytes;
  return kQuantumMaxBytes << (bin - kQuantumBins);
}

struct RunGeometry {
  uint32_t region_bytes = 0;
  uint32_t pages = 0;
  uint32_t region_count = 0;
  uint32_t first_offset = 0;  // of region 0; the regions end where the run ends
  uint32_t reciprocal = 0;    // ceil(2^32 / region_bytes)

  constexpr uint64_t run_bytes() const { return pages * kRunPageBytes; }
  // Exact for offsets within a run: the error stays below offset * region_bytes / 2^32 regions.
  constexpr uint32_t region_at(uint64_t offset) const {
    return static_cast<uint32_t>((offset - first_offset) * reciprocal >> 32);
  }
};

// The real run header: owner, two counters, and at least one mask word (padded to 24 bytes); then
// one 4-byte word for every further 32 regions.
constexpr uint64_t run_header_bytes(uint32_t region_count) {
  return 24 + 4 * ((region_count + 31) / 32 - 1);
}

// As many regions as fit after their own header.
constexpr RunGeometry fill_run(uint32_t region_bytes, uint32_t pages) {
  RunGeometry run{region_bytes, pages, 0, 0, 0};
  run.region_count = static_cast<uint32_t>((run.run_bytes() - 24) / region_bytes);
  while (run.run_bytes() - uint64_t{run.region_count} * region_bytes <
         run_header_bytes(run.region_count)) {
    --run.region_count;
  }
  run.first_offset = static_cast<uint32_t>(run.run_bytes()) - run.region_count * region_bytes;
  run.reciprocal = static_cast<uint32_t>(((uint64_t{1} << 32) + region_bytes - 1) / region_bytes);
  return run;
}

// Grows the run by pages while the next size still wastes more than 0x3d/4096 of itself before its
// regions. Takes the last size that was too wasteful, not the first good one: the original keeps
// the values from before its last step. Classes whose overhead is below 1.5 bits (0x1800/4096) a
// region stay unchanged.
constexpr RunGeometry size_run(uint32_t region_bytes, uint32_t least_pages) {
  constexpr uint64_t kMaxOverhead = 0x3d;
  constexpr uint64_t kRelaxedOverhead = 0x1800;
  constexpr int kOverheadLog2 = 12;
  RunGeometry run = fill_run(region_bytes, least_pages);
  if (kMaxOverhead * region_bytes * 8 <= kRelaxedOverhead) return run;
  for (;;) {
    const RunGeometry next = fill_run(region_bytes, run.pages + 1);
    const bool wasteful =
        uint64_t{next.first_offset} << kOverheadLog2 > kMaxOverhead * next.run_bytes();
    if (!wasteful || next.pages > kLargestRunPages) return run;
    run = next;
  }
}

// A class never has smaller runs than the class before it.
constexpr std::array<RunGeometry, kBinCount> make_run_geometries() {
  std::array<RunGeometry, kBinCount> table{};
  uint32_t pages = 1;
  for (uint32_t bin = 0; bin < kBinCount; ++bin) {
    table[bin] = size_run(region_bytes_of(bin), pages);
    pages = table[bin].pages;
  }
  return table;
}

inline constexpr std::array<RunGeometry, kBinCount> kRunGeometries = make_run_geometries();

constexpr uint32_t max_region_count() {
  uint32_t most = 0;
  for (const RunGeometry& run : kRunGeometries)
    most = run.region_count > most ? run.region_count : most;
  return most;
}

}  // namespace heaptape::allocators::runs
