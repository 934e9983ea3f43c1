#include "allocators/models/slabs/smooth_decay.h"

#include <algorithm>

namespace heaptape::allocators::slabs {
namespace {

constexpr int kFractionBits = 24;

// 6x^5 - 15x^4 + 10x^3 for x = 1/200 .. 200/200.
constexpr auto kShares = [] {
  constexpr uint64_t n = SmoothDecay::kSteps;
  std::array<uint64_t, n> shares{};
  for (uint64_t i = 1; i <= n; ++i) {
    const uint64_t numerator = i * i * i * (6 * i * i + 10 * n * n - 15 * n * i);
    shares[i - 1] = (numerator << kFractionBits) / (n * n * n * n * n);
  }
  return shares;
}();
static_assert(kShares.back() == uint64_t{1} << kFractionBits);

}  // namespace

bool SmoothDecay::advance(uint64_t now_ns, uint64_t pages) {
  if (now_ns < epoch_ns_ + step_ns_) return false;
  const uint64_t steps = (now_ns - epoch_ns_) / step_ns_;
  epoch_ns_ += steps * step_ns_;
  shift_backlog(steps, pages);
  limit_pages_ = backlog_limit();
  unpurged_pages_ = std::max(limit_pages_, pages);
  return true;
}

void SmoothDecay::shift_backlog(uint64_t steps, uint64_t pages) {
  const uint64_t shift = std::min<uint64_t>(steps, kSteps);
  std::copy(backlog_.begin() + shift, backlog_.end(), backlog_.begin());
  std::fill(backlog_.end() - shift, backlog_.end(), 0);
  backlog_.back() = pages > unpurged_pages_ ? pages - unpurged_pages_ : 0;
}

uint64_t SmoothDecay::backlog_limit() const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kSteps; ++i) sum += backlog_[i] * kShares[i];
  return sum >> kFractionBits;
}

}  // namespace heaptape::allocators::slabs
