// A heap over time, address by address: the data for a picture of it. docs/metrics.md, "The heap
// over time", defines each figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/address/address_range.h"
#include "replayer/heap_map/film_items.h"
#include "replayer/heap_map/heap_map.h"
#include "replayer/heap_map/heap_picture.h"

namespace heaptape::replayer {

// A stretch of addresses in one frame.
struct FilmCell {
  float live_bytes = 0;           // of blocks, whole granules
  float free_resident_bytes = 0;  // in holes and tops, on resident pages
  float free_absent_bytes = 0;    // on other pages
  float birth = 0;      // number of the call that made a block, the mean over the live bytes
  float size_log2 = 0;  // of the requested bytes of blocks, the mean over the live bytes
  // The birth of one of its blocks, drawn at random with equal chances for each live byte; 0 if it
  // has none.
  uint64_t drawn_birth = 0;
};

// Over all cells, exact even after merging.
struct FilmSums {
  uint64_t live_bytes = 0;           // requested
  uint64_t block_bytes = 0;          // of blocks, whole granules
  uint64_t free_resident_bytes = 0;  // as in FilmCell
  uint64_t free_absent_bytes = 0;

  bool operator==(const FilmSums&) const = default;
};

struct FilmFrame {
  uint64_t at = 0;       // calls made
  bool is_kept = false;  // even when others are dropped
  FilmSums sums;
  std::vector<FilmCell> cells;  // as HeapFilm::cell_numbers(), without later ones
};

// Cells are aligned and of equal size, at first a page. When there are more than Limits::cells, the
// size is doubled, and the two halves of each new cell are merged; when there are more than
// Limits::frames, every second frame is dropped. So memory has a bound: 32 bytes for each cell of
// each frame.
//
//   film.begin(at, map, absent, false);
//   for (each live block) film.add(block);
//   film.end();
//
// A frame takes the time of a walk over all live blocks and gaps. Calls are ascending. A copy
// shares nothing. One thread.
class HeapFilm {
 public:
  struct Limits {
    size_t cells = 1024;   // at least 1
    size_t frames = 1024;  // that are not kept; at least 2
    size_t items = 4096;
  };
  explicit HeapFilm(const Limits& limits);

  // A frame at the same call as the last one replaces it.
  void begin(uint64_t at, const HeapMap& map,
             const std::optional<std::vector<AddressRange>>& absent, bool is_kept);
  // Each live block once, in any order.
  void add(const LiveBlock& block);
  void end();

  uint64_t cell_bytes() const { return uint64_t{1} << cell_log2_; }
  // The address of a cell divided by cell_bytes(), in the order in which cells came.
  const std::vector<uint64_t>& cell_numbers() const { return numbers_; }
  const std::vector<FilmFrame>& frames() const { return frames_; }
  // Blocks and holes that are large enough to be seen.
  const FilmItems& items() const { return items_; }
  // Whether all frames know which free memory is resident.
  bool knows_absent() const { return knows_absent_; }
  // The number of frames offered: taken, including dropped ones, and skipped.
  uint64_t offered() const { return offered_; }
  void pass_over() { ++offered_; }

  // Doubles the size of cells; drops every second frame that is not kept. The last frame stays.
  void halve_cells();
  void halve_frames();

 private:
  // For the current frame.
  struct Sums {
    double live_bytes = 0;
    double free_resident_bytes = 0;
    double free_absent_bytes = 0;
    double births = 0;      // each times the bytes of its block in the cell
    double sizes_log2 = 0;  // likewise
    double least_ticket = 0;
    uint64_t drawn_birth = 0;
  };

  void make_cells(AddressRange range);
  size_t index_of(uint64_t number);
  void draw(const LiveBlock& block, uint64_t bytes, Sums& sums) const;
  void add_gap(AddressRange gap, bool is_resident);
  // Calls visit(sums, bytes) for each cell that has a part of the range; all must exist.
  template <typename Visit>
  void for_each_cell(AddressRange range, Visit visit);

  Limits limits_;
  int cell_log2_;
  std::vector<uint64_t> numbers_;
  std::unordered_map<uint64_t, size_t> index_;  // of each number
  uint64_t last_number_ = UINT64_MAX;           // the last lookup and its result
  size_t last_index_ = 0;
  uint64_t granule_bytes_ = 1;  // of the heap
  std::vector<Sums> sums_;
  std::vector<FilmFrame> frames_;
  FilmItems items_;
  bool knows_absent_ = true;
  uint64_t offered_ = 0;
};

}  // namespace heaptape::replayer
