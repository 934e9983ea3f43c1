#include "recorder/interposer/stack_sampling.h"

namespace heaptape::recorder {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kFractionBits = 32;
constexpr uint64_t kLn2 = 2977044472;  // in units of 2^-32

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), for a sequence whose steps any thread may take.
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
constexpr uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// -log2(random / 2^64) in units of 2^-32. One bit of the logarithm at a time: the square of a
// number has twice its logarithm. Slow, but needed once in many kilobytes.
uint64_t minus_log2(uint64_t random) {
  random |= 1;
  const int zeros = __builtin_clzll(random);
  uint64_t mantissa = random << zeros;  // in units of 2^-63, from 1 to 2
  uint64_t log2 = 0;
  for (int bit = 0; bit < kFractionBits; ++bit) {
    const auto half_square = static_cast<uint64_t>(Wide{mantissa} * mantissa >> 64);
    const bool is_two = half_square >> 63 != 0;
    mantissa = is_two ? half_square : half_square << 1;
    log2 = log2 << 1 | (is_two ? 1 : 0);
  }
  return (static_cast<uint64_t>(zeros + 1) << kFractionBits) - log2;
}

}  // namespace

void StackSampling::choose(const schema::SizeRange (&sizes)[kMostStackSizes]) {
  ranges_ = 0;
  for (const schema::SizeRange& range : sizes) {
    if (range.most == 0) break;
    sizes_[ranges_] = range;
    if (ranges_ == 0 || range.least < all_.least) all_.least = range.least;
    if (ranges_ == 0 || range.most > all_.most) all_.most = range.most;
    ++ranges_;
  }
}

uint64_t StackSampling::draw() {
  if (every_bytes_ == 0) return 0;
  const uint64_t random = mixed(drawn_.fetch_add(kStep, std::memory_order_relaxed) + kStep);
  const auto minus_ln = static_cast<uint64_t>(Wide{minus_log2(random)} * kLn2 >> kFractionBits);
  return static_cast<uint64_t>(Wide{minus_ln} * every_bytes_ >> kFractionBits) + 1;
}

}  // namespace heaptape::recorder
