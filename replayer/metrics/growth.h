// Does an operation become slower as its heap grows? Fits cost = a * scale^exponent to the curves
// that a backend kept. docs/metrics.md, "Growth".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocators/growth_log.h"

namespace heaptape::replayer {

struct GrowthFit {
  std::string operation;  // these three as in GrowthCurve
  std::string work;
  std::string scale;
  uint64_t operations = 0;
  uint64_t work_total = 0;
  bool is_fitted = false;  // false: too few operations, scales or work to say anything
  double exponent = 0;     // with its 95 % confidence interval
  double exponent_low = 0;
  double exponent_high = 0;
  bool grows = false;  // linearly or worse, and far enough to be felt
};

// Weighted least squares on the logarithms of scale and of mean work, band by band, over the five
// octaves below the largest scale: there the constant part of a cost no longer hides what grows.
// Bands without work are omitted; the curve is not fitted if they have over a tenth of the
// operations.
GrowthFit fit_growth(const allocators::GrowthCurve& curve);

// The largest exponent among those that grow; 0 if none does.
double worst_exponent(const std::vector<GrowthFit>& fits);

// For people: "free: cost grows as n^1.0 with the list length: 4,950 nodes skipped over 100 frees;
// quadratic overall". Empty unless the operation grows.
std::string growth_sentence(const GrowthFit& fit);

}  // namespace heaptape::replayer
