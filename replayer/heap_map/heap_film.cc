#include "replayer/heap_map/heap_film.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/address/overlap.h"
#include "base/address/pages.h"
#include "base/check.h"

namespace heaptape::replayer {
namespace {

constexpr int kFirstCellLog2 = 12;
static_assert(uint64_t{1} << kFirstCellLog2 == base::kPageBytes);

// An item that fills this part of a cell gets a name.
constexpr uint64_t kSeenPartOfCell = 4;

// From 0 to 1, without 1; the same for the same number.
double mixed(uint64_t number) {
  number ^= number >> 32;
  number *= 0x9e3779b97f4a7c15;
  number ^= number >> 29;
  number *= 0xbf58476d1ce4e5b9;
  number ^= number >> 32;
  return static_cast<double>(number >> 11) * 0x1p-53;
}

// The logarithm, linear between powers of two: off by 0.09 at most.
double about_log2(uint64_t number) {
  const auto bits = std::bit_cast<uint64_t>(static_cast<double>(std::max<uint64_t>(number, 1)));
  constexpr double kBias = 1023;
  return static_cast<double>(bits) * 0x1p-52 - kBias;
}

// The cell with these two halves.
FilmCell joined(const FilmCell& a, const FilmCell& b) {
  const float live_bytes = a.live_bytes + b.live_bytes;
  if (live_bytes == 0) {
    return {.free_resident_bytes = a.free_resident_bytes + b.free_resident_bytes,
            .free_absent_bytes = a.free_absent_bytes + b.free_absent_bytes};
  }
  const float share = a.live_bytes / live_bytes;
  const float half = static_cast<float>(mixed(a.drawn_birth ^ (b.drawn_birth << 1)));
  return {.live_bytes = live_bytes,
          .free_resident_bytes = a.free_resident_bytes + b.free_resident_bytes,
          .free_absent_bytes = a.free_absent_bytes + b.free_absent_bytes,
          .birth = a.birth * share + b.birth * (1 - share),
          .size_log2 = a.size_log2 * share + b.size_log2 * (1 - share),
          .drawn_birth = half < share ? a.drawn_birth : b.drawn_birth};
}

}  // namespace

HeapFilm::HeapFilm(const Limits& limits)
    : limits_(limits), cell_log2_(kFirstCellLog2), items_(limits.items) {}

void HeapFilm::begin(uint64_t at, const HeapMap& map,
                     const std::optional<std::vector<AddressRange>>& absent, bool is_kept) {
  ++offered_;
  if (!frames_.empty() && frames_.back().at == at) {
    is_kept |= frames_.back().is_kept;
    frames_.pop_back();
    --offered_;
  }
  if (frames_.size() >= limits_.frames) halve_frames();
  frames_.push_back({at, is_kept, {}, {}});
  items_.begin_frame(at);
  granule_bytes_ = map.granule_bytes();
  if (!absent) knows_absent_ = false;
  sums_.assign(numbers_.size(), {});
  for (const AddressRange region : map.regions()) make_cells(region);
  base::Overlap away(absent ? std::span<const AddressRange>(*absent)
                            : std::span<const AddressRange>());
  map.for_each_gap([&](AddressRange region, AddressRange gap) {
    const bool is_hole = map.is_hole(region, gap);
    if (!is_hole && gap_kind(region, gap) != GapKind::kTop) return;
    uint64_t resident_begin = gap.begin;
    away.for_each(gap, [&](AddressRange part) {
      add_gap({resident_begin, part.begin}, true);
      add_gap(part, false);
      resident_begin = part.end;
    });
    add_gap({resident_begin, gap.end}, true);
    if (is_hole && gap.bytes() >= cell_bytes() / kSeenPartOfCell) items_.note_hole(gap);
  });
}

void HeapFilm::add_gap(AddressRange gap, bool is_resident) {
  if (gap.begin >= gap.end) return;
  FilmSums& frame = frames_.back().sums;
  (is_resident ? frame.free_resident_bytes : frame.free_absent_bytes) += gap.bytes();
  const auto field = is_resident ? &Sums::free_resident_bytes : &Sums::free_absent_bytes;
  for_each_cell(gap,
                [field](Sums& sums, uint64_t bytes) { sums.*field += static_cast<double>(bytes); });
}

void HeapFilm::add(const LiveBlock& block) {
  const uint64_t end = block.address + std::max<uint64_t>(block.usable_bytes, 1);
  const AddressRange range{base::round_down(block.address, granule_bytes_),
                           base::round_up(end, granule_bytes_)};
  // Blocks may be outside all regions.
  if (range.begin >> cell_log2_ != last_number_ || (range.end - 1) >> cell_log2_ != last_number_) {
    make_cells(range);
  }
  FilmSums& frame = frames_.back().sums;
  frame.live_bytes += block.requested_bytes;
  frame.block_bytes += range.bytes();
  const double size_log2 = about_log2(block.requested_bytes);
  for_each_cell(range, [&](Sums& sums, uint64_t bytes) {
    const auto weight = static_cast<double>(bytes);
    sums.live_bytes += weight;
    sums.births += weight * static_cast<double>(block.birth);
    sums.sizes_log2 += weight * size_log2;
    draw(block, bytes, sums);
  });
  if (range.bytes() >= cell_bytes() / kSeenPartOfCell) {
    items_.note_block({block.address, end}, block.birth, block.requested_bytes);
  }
}

// Each block draws a ticket from the exponential distribution whose rate is its bytes; the chance
// that it has the least ticket is in proportion to its bytes (Efraimidis and Spirakis, 2006). The
// same birth always gives the same ticket, so that a cell does not change while its blocks stay.
void HeapFilm::draw(const LiveBlock& block, uint64_t bytes, Sums& sums) const {
  const double u = mixed(block.birth);
  const auto rate = static_cast<double>(bytes);
  if (sums.drawn_birth != 0 && u >= sums.least_ticket * rate) return;  // -log(1 - u) is no less
  const double ticket = -std::log1p(-u) / rate;
  if (sums.drawn_birth != 0 && ticket >= sums.least_ticket) return;
  sums.least_ticket = ticket;
  sums.drawn_birth = block.birth;
}

void HeapFilm::end() {
  std::vector<FilmCell>& cells = frames_.back().cells;
  cells.reserve(sums_.size());
  for (const Sums& sums : sums_) {
    const double live_bytes = std::max(1.0, sums.live_bytes);
    cells.push_back({.live_bytes = static_cast<float>(sums.live_bytes),
                     .free_resident_bytes = static_cast<float>(sums.free_resident_bytes),
                     .free_absent_bytes = static_cast<float>(sums.free_absent_bytes),
                     .birth = static_cast<float>(sums.births / live_bytes),
                     .size_log2 = static_cast<float>(sums.sizes_log2 / live_bytes),
                     .drawn_birth = sums.drawn_birth});
  }
}

// Makes cells for a range of any size, large ones if need be.
void HeapFilm::make_cells(AddressRange range) {
  if (range.begin >= range.end) return;
  while ((range.end - 1) / cell_bytes() - range.begin / cell_bytes() >= limits_.cells) {
    halve_cells();
  }
  for (uint64_t at = range.begin; at < range.end; at = (at / cell_bytes() + 1) * cell_bytes()) {
    index_of(at >> cell_log2_);
    // The next cell begins where this one, which may have grown, ends.
    while (numbers_.size() > limits_.cells) halve_cells();
  }
}

size_t HeapFilm::index_of(uint64_t number) {
  if (number == last_number_) return last_index_;
  const auto [found, is_new] = index_.try_emplace(number, numbers_.size());
  if (is_new) {
    numbers_.push_back(number);
    sums_.emplace_back();
  }
  last_number_ = number;
  last_index_ = found->second;
  return last_index_;
}

template <typename Visit>
void HeapFilm::for_each_cell(AddressRange range, Visit visit) {
  for (uint64_t at = range.begin; at < range.end;) {
    const uint64_t end = std::min(range.end, (at / cell_bytes() + 1) * cell_bytes());
    visit(sums_[index_of(at >> cell_log2_)], end - at);
    at = end;
  }
}

void HeapFilm::halve_cells() {
  ++cell_log2_;
  HEAPTAPE_CHECK(cell_log2_ < 64);
  std::vector<uint64_t> old_numbers = std::exchange(numbers_, {});
  const std::vector<Sums> old_sums = std::exchange(sums_, {});
  index_.clear();
  last_number_ = UINT64_MAX;
  std::vector<size_t> place;  // of each old cell
  for (const uint64_t number : old_numbers) place.push_back(index_of(number / 2));
  for (size_t i = 0; i < old_sums.size(); ++i) {
    Sums& sums = sums_[place[i]];
    const Sums& old = old_sums[i];
    sums.live_bytes += old.live_bytes;
    sums.free_resident_bytes += old.free_resident_bytes;
    sums.free_absent_bytes += old.free_absent_bytes;
    sums.births += old.births;
    sums.sizes_log2 += old.sizes_log2;
    const bool is_first = sums.drawn_birth == 0 || old.least_ticket < sums.least_ticket;
    if (old.drawn_birth == 0 || !is_first) continue;
    sums.least_ticket = old.least_ticket;
    sums.drawn_birth = old.drawn_birth;
  }
  for (FilmFrame& frame : frames_) {
    std::vector<FilmCell> cells;
    for (size_t i = 0; i < frame.cells.size(); ++i) {
      if (place[i] >= cells.size()) cells.resize(place[i] + 1);
      cells[place[i]] = joined(cells[place[i]], frame.cells[i]);
    }
    frame.cells = std::move(cells);
  }
}

void HeapFilm::halve_frames() {
  std::vector<FilmFrame> kept;
  bool drops = false;
  for (size_t i = 0; i < frames_.size(); ++i) {
    const bool stays = frames_[i].is_kept || !drops || i + 1 == frames_.size();
    if (!frames_[i].is_kept) drops = !drops;
    if (stays) kept.push_back(std::move(frames_[i]));
  }
  frames_ = std::move(kept);
}

}  // namespace heaptape::replayer
