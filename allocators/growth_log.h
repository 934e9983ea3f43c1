// An allocator's work per operation, against the size of what it manages: the raw data of the
// growth check. docs/metrics.md, "Growth".
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heaptape::allocators {

// All operations whose scale fell into one narrow band.
struct GrowthPoint {
  uint64_t operations = 0;
  uint64_t scale_sum = 0;
  uint64_t work_sum = 0;
};

struct GrowthCurve {
  std::string operation;  // "free"
  std::string work;       // the unit counted: "nodes skipped"
  std::string scale;      // what it may grow with: "live blocks", "list length"
  uint64_t operations = 0;
  uint64_t work_total = 0;
  std::vector<GrowthPoint> points;  // by ascending scale; empty ones are omitted
};

// Collects one curve in bands of an eighth of an octave, so memory does not grow. One thread.
class GrowthLog {
 public:
  // One operation that did `work` while the scale was `scale`.
  void add(uint64_t scale, uint64_t work) {
    GrowthPoint& point = points_[band_of(scale)];
    ++point.operations;
    point.scale_sum += scale;
    point.work_sum += work;
  }

  GrowthCurve curve(std::string operation, std::string work, std::string scale) const {
    GrowthCurve curve{std::move(operation), std::move(work), std::move(scale), 0, 0, {}};
    for (const GrowthPoint& point : points_) {
      if (point.operations == 0) continue;
      curve.operations += point.operations;
      curve.work_total += point.work_sum;
      curve.points.push_back(point);
    }
    return curve;
  }

 private:
  static constexpr int kBandsLog2 = 3;  // bands per octave

  static size_t band_of(uint64_t scale) {
    if (scale < (1u << kBandsLog2)) return scale;
    const int octave = std::bit_width(scale) - 1 - kBandsLog2;
    return (static_cast<size_t>(octave) << kBandsLog2) + (scale >> octave);
  }

  std::array<GrowthPoint, size_t{(64 - kBandsLog2 + 1)} << kBandsLog2> points_{};
};

}  // namespace heaptape::allocators
