#include <algorithm>
#include <cmath>

#include "allocators/models/pagealign/registries.h"

namespace heaptape::allocators::pagealign {
namespace {

bool is_prime(uint64_t number) {
  for (uint64_t divisor = 2; divisor * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

}  // namespace

// The series of gnulib's gl_anyhash_primes.h, by the formula in that file. It was made in double
// precision, which is exact enough for tables that fit in memory.
uint64_t next_bucket_count(uint64_t least) {
  for (double power = 1.2;; power *= 1.2) {
    auto prime = static_cast<uint64_t>(std::ceil(power));
    while (!is_prime(prime)) ++prime;
    if (prime >= std::max(least, HashRegistry::kFirstBuckets)) return prime;
  }
}

bool HashRegistry::add(uint64_t address) {
  if (heads_.empty() && !create()) return false;
  // The map looks for the key first, and never finds it.
  const uint64_t bucket = address % heads_.size();
  for (uint64_t at = heads_[bucket]; at != 0; at = blocks_.at(at).link) ++probes_;
  const uint64_t node = base_.allocate(kNodeBytes, 0).address;
  if (node == 0) return false;
  PageBlock& block = blocks_.at(address);
  block.node = node;
  block.link = heads_[bucket];
  heads_[bucket] = address;
  ++count_;
  const uint64_t estimate = count_ + count_ / 2;
  if (estimate > heads_.size()) grow(estimate);
  return true;
}

void HashRegistry::remove(uint64_t address) {
  uint64_t probes = 1;
  uint64_t* link = &heads_[address % heads_.size()];
  for (; *link != address; link = &blocks_.at(*link).link) ++probes;
  const PageBlock& block = blocks_.at(address);
  *link = block.link;
  probes_ += probes;
  log_.add(count_, probes);
  --count_;
  base_.release(block.node);
}

bool HashRegistry::create() {
  const uint64_t map = base_.allocate(kMapBytes, 0).address;
  if (map == 0) return false;
  table_ = base_.allocate_zeroed(kFirstBuckets * kBucketBytes).address;
  if (table_ == 0) {
    base_.release(map);
    return false;
  }
  heads_.assign(kFirstBuckets, 0);
  return true;
}

// Walks the old buckets from last to first, so that chains come out in the order of the real table.
// If there is no room for the new table, the old one stays, as in the original.
void HashRegistry::grow(uint64_t least_buckets) {
  const uint64_t buckets = next_bucket_count(least_buckets);
  const uint64_t table = base_.allocate_zeroed(buckets * kBucketBytes).address;
  if (table == 0) return;
  std::vector<uint64_t> heads(buckets);
  for (size_t i = heads_.size(); i-- > 0;) {
    for (uint64_t at = heads_[i]; at != 0;) {
      uint64_t& link = blocks_.at(at).link;
      const uint64_t next = link;
      link = heads[at % buckets];
      heads[at % buckets] = at;
      at = next;
    }
  }
  heads_.swap(heads);
  base_.release(table_);
  table_ = table;
  ++resizes_;
  moves_ += count_;
}

void HashRegistry::append_counters(std::vector<Counter>& list) const {
  list.push_back({"hashProbes", probes_});
  list.push_back({"hashMoves", moves_});
  list.push_back({"hashResizes", resizes_});
  list.push_back({"hashBuckets", heads_.size()});
  list.push_back({"nodeBytes", count_ * kNodeBytes});
}

}  // namespace heaptape::allocators::pagealign
