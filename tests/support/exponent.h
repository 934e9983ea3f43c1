// With which power of its scale the work on a growth curve rises.
#pragma once

#include <cmath>

#include "allocators/growth.h"

namespace heaptape::tests {

// The slope on logarithmic axes. Each band counts alike; those without scale or work are left out.
inline double exponent(const allocators::GrowthCurve& curve) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const allocators::GrowthPoint& point : curve.points) {
    if (point.scale_sum == 0 || point.work_sum == 0) continue;
    const double scale = std::log(point.scale_sum / static_cast<double>(point.operations));
    const double work = std::log(point.work_sum / static_cast<double>(point.operations));
    n += 1, x += scale, y += work, xx += scale * scale, xy += scale * work;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

}  // namespace heaptape::tests
