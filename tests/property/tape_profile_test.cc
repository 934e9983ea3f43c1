// Sizes, lifetimes, resizes and threads against a reference that remembers everything.
#include "replayer/engine/tape_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "replayer/engine/slot_resolver.h"
#include "replayer/report/tape_profile_text.h"
#include "tests/support/seeded_random.h"
#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using schema::OpKind;
using schema::TimeSample;

// The time of a call, from all samples of the tape.
double time_of(uint64_t event, const std::vector<TimeSample>& samples) {
  TimeSample before;
  for (const TimeSample& sample : samples) {
    if (sample.event >= event) {
      const auto ns = static_cast<double>(sample.time_ns - before.time_ns);
      const auto part = static_cast<double>(event - before.event);
      return static_cast<double>(before.time_ns) +
             ns * part / static_cast<double>(sample.event - before.event);
    }
    before = sample;
  }
  return static_cast<double>(before.time_ns);
}

class ReferenceProfile {
 public:
  explicit ReferenceProfile(const std::vector<TimeSample>& samples) : samples_(samples) {}

  void take(const Event& event) {
    ++calls_;
    ++threads_[event.thread].calls;
    const OpKind kind = schema::op_info(event.op).kind;
    if (schema::is_failed(event)) return;
    if (kind == OpKind::kRelease || schema::frees_by_resize(event)) return release(event);
    if (kind == OpKind::kResize && known_.contains(event.freed_address)) return resize(event);
    known_[event.address] = blocks_.size();  // the one that was there stays alive
    blocks_.push_back({calls_, event.thread, event.thread, {event.size}, {}, 0});
    asked(event);
  }

  struct Block {
    uint64_t birth;
    uint32_t first_owner;
    uint32_t owner;
    std::vector<uint64_t> sizes;   // all that it had
    std::vector<uint64_t> copied;  // by each resize
    uint64_t death;                // 0: alive
  };
  uint64_t calls_ = 0, in_place_ = 0;
  std::vector<Block> blocks_;
  std::vector<uint64_t> sizes_, lifetimes_;
  std::vector<double> lifetimes_ns_;
  std::map<uint32_t, ThreadTotal> threads_;  // but for what lives

 private:
  void asked(const Event& event) {
    sizes_.push_back(event.size);
    threads_[event.thread].asked_bytes += event.size;
  }
  void resize(const Event& event) {
    const size_t at = known_.at(event.freed_address);
    known_.erase(event.freed_address);
    known_[event.address] = at;
    Block& block = blocks_[at];
    const bool moved = event.address != event.freed_address;
    in_place_ += !moved;
    if (moved) block.copied.push_back(std::min(block.sizes.back(), event.size));
    block.sizes.push_back(event.size);
    block.owner = event.thread;
    asked(event);
  }
  void release(const Event& event) {
    const auto found = known_.find(event.freed_address);
    if (event.freed_address == 0 || found == known_.end()) return;
    Block& block = blocks_[found->second];
    known_.erase(found);
    block.death = calls_;
    lifetimes_.push_back(calls_ - block.birth - 1);
    lifetimes_ns_.push_back(time_of(calls_, samples_) - time_of(block.birth, samples_));
    if (block.owner == event.thread) return;
    ++threads_[event.thread].foreign_frees;
    ++threads_[block.owner].freed_by_others;
  }

  const std::vector<TimeSample>& samples_;
  std::map<uint64_t, size_t> known_;  // live blocks, by address
};

// The greatest size of the bucket.
uint64_t bucket_end(uint64_t size) {
  if (size <= 32768) return std::max<uint64_t>((size + 15) / 16, 1) * 16;
  return size <= 1 << 30 ? (size + 32767) / 32768 * 32768 : UINT64_MAX;
}

void compare_sizes(const SizeHistogram& sizes, const ReferenceProfile& reference) {
  std::map<uint64_t, SizeCounts> expected;  // by the ends of buckets
  for (const uint64_t size : reference.sizes_) {
    SizeCounts& counts = expected[bucket_end(size)];
    ++counts.calls;
    counts.bytes += size;
    counts.smallest = std::min(counts.smallest, size);
    counts.largest = std::max(counts.largest, size);
  }
  for (const auto& block : reference.blocks_) {
    if (block.death == 0) ++expected[bucket_end(block.sizes.back())].live_count;
  }
  const std::vector<SizeBucket> buckets = sizes.buckets();
  ASSERT_EQ(buckets.size(), expected.size());
  for (const SizeBucket& bucket : buckets) {
    const SizeCounts& counts = expected.at(bucket.to);
    ASSERT_EQ(bucket_end(bucket.from), bucket.to);
    ASSERT_EQ(bucket.counts.calls, counts.calls);
    ASSERT_EQ(bucket.counts.bytes, counts.bytes);
    ASSERT_EQ(bucket.counts.smallest, counts.smallest);
    ASSERT_EQ(bucket.counts.largest, counts.largest);
    ASSERT_EQ(bucket.counts.live_count, counts.live_count);
  }
}

// `then`: of the events up to the call after which the bands were kept.
void compare_bands(const SizeBands& bands, const ReferenceProfile& reference,
                   const ReferenceProfile& then) {
  const auto band_of = [](uint64_t size) { return size <= 1 ? 0 : std::bit_width(size) - 1; };
  std::map<int, SizeBand> expected;
  for (const uint64_t size : reference.sizes_) {
    ++expected[band_of(size)].calls;
    expected[band_of(size)].asked_bytes += size;
  }
  for (const auto& block : then.blocks_) {
    if (block.death != 0) continue;
    ++expected[band_of(block.sizes.back())].kept_count;
    expected[band_of(block.sizes.back())].kept_bytes += block.sizes.back();
  }
  for (int i = 0; i < static_cast<int>(SizeBands::kBands); ++i) {
    const SizeBand& band = bands.bands()[static_cast<size_t>(i)];
    ASSERT_EQ(band.calls, expected[i].calls) << i;
    ASSERT_EQ(band.asked_bytes, expected[i].asked_bytes) << i;
    ASSERT_EQ(band.kept_count, expected[i].kept_count) << i;
    ASSERT_EQ(band.kept_bytes, expected[i].kept_bytes) << i;
  }
}

void compare_lifetimes(const Lifetimes& lifetimes, const ReferenceProfile& reference) {
  std::vector<uint64_t> sorted = reference.lifetimes_;
  std::ranges::sort(sorted);
  const uint64_t blocks = reference.blocks_.size();
  ASSERT_EQ(lifetimes.blocks(), blocks);
  ASSERT_EQ(lifetimes.in_calls().total(), sorted.size());
  for (const CdfPoint& point : cdf(lifetimes.in_calls(), blocks)) {
    const auto end = std::ranges::upper_bound(sorted, point.up_to);
    ASSERT_EQ(point.blocks, static_cast<uint64_t>(end - sorted.begin()));
  }
  for (unsigned part = 1; part <= 100; ++part) {
    const uint64_t rank = (blocks * part + 99) / 100;
    const auto found = lifetimes.quantile(lifetimes.in_calls(), part);
    ASSERT_EQ(found.has_value(), rank != 0 && rank <= sorted.size());
    if (!found) continue;
    const auto exact = static_cast<double>(sorted[rank - 1]);
    ASSERT_NEAR(static_cast<double>(*found), exact, exact / 64);
  }
}

void compare_shares(const Lifetimes& lifetimes, const ReferenceProfile& reference) {
  const auto under = [&](uint64_t part) {
    return static_cast<uint64_t>(std::ranges::count_if(
        reference.lifetimes_, [&](uint64_t life) { return life * part < reference.calls_; }));
  };
  ASSERT_EQ(lifetimes.under_ten_thousandth(), under(10000));
  ASSERT_EQ(lifetimes.under_tenth(), under(10));
}

// Of the times no more than 2 ns are lost to rounding.
void compare_times(const LogHistogram& lifetimes, const ReferenceProfile& reference) {
  std::vector<double> sorted = reference.lifetimes_ns_;
  std::ranges::sort(sorted);
  ASSERT_EQ(lifetimes.total(), sorted.size());
  for (size_t rank = 1; rank <= sorted.size(); ++rank) {
    const double exact = sorted[rank - 1];
    ASSERT_NEAR(static_cast<double>(*lifetimes.value_at(rank)), exact, exact / 64 + 2);
  }
}

std::vector<GrowthChain> chains_of(const ReferenceProfile& reference) {
  std::vector<GrowthChain> chains;
  for (const auto& block : reference.blocks_) {
    GrowthChain chain{block.birth, block.first_owner, block.sizes.front(), 0, 0, 0};
    for (size_t i = 1; i < block.sizes.size(); ++i) {
      chain.length += block.sizes[i] > block.sizes[i - 1];
    }
    for (const uint64_t bytes : block.copied) chain.copied_bytes += bytes;
    chain.to_bytes = *std::ranges::max_element(block.sizes);
    if (chain.length >= 2) chains.push_back(chain);
  }
  return chains;
}

// `key` first, the others of cost, length and age behind it.
template <typename Key>
void compare_named(const std::vector<GrowthChain>& named, std::vector<GrowthChain> all, Key key) {
  std::ranges::sort(all, {}, [&key](const GrowthChain& chain) {
    return std::tuple(~key(chain), ~chain.copied_bytes, ~chain.length, chain.birth);
  });
  ASSERT_EQ(named.size(), std::min(all.size(), GrowthChains::kNamed));
  for (size_t i = 0; i < named.size(); ++i) {
    ASSERT_EQ(named[i].birth, all[i].birth);
    ASSERT_EQ(named[i].thread, all[i].thread);
    ASSERT_EQ(named[i].from_bytes, all[i].from_bytes);
    ASSERT_EQ(named[i].to_bytes, all[i].to_bytes);
    ASSERT_EQ(named[i].length, all[i].length);
    ASSERT_EQ(named[i].copied_bytes, all[i].copied_bytes);
  }
}

void compare_resizes(const GrowthChains& chains, const ReferenceProfile& reference) {
  uint64_t moved = 0, moved_bytes = 0, growths = 0, copied_bytes = 0;
  for (const auto& block : reference.blocks_) {
    moved += block.copied.size();
    for (const uint64_t bytes : block.copied) moved_bytes += bytes;
  }
  const std::vector<GrowthChain> all = chains_of(reference);
  for (const GrowthChain& chain : all) {
    growths += chain.length;
    copied_bytes += chain.copied_bytes;
  }
  ASSERT_EQ(chains.in_place(), reference.in_place_);
  ASSERT_EQ(chains.moved(), moved);
  ASSERT_EQ(chains.moved_bytes(), moved_bytes);
  ASSERT_EQ(chains.count(), all.size());
  ASSERT_EQ(chains.growths(), growths);
  ASSERT_EQ(chains.copied_bytes(), copied_bytes);
  compare_named(chains.costliest(), all,
                [](const GrowthChain& chain) { return chain.copied_bytes; });
  compare_named(chains.longest(), all, [](const GrowthChain& chain) { return chain.length; });
}

void compare_threads(const ThreadTotals& threads, const ReferenceProfile& reference) {
  std::map<uint32_t, ThreadTotal> expected = reference.threads_;
  for (const auto& block : reference.blocks_) {
    if (block.death != 0) continue;
    ++expected[block.owner].live_count;
    expected[block.owner].live_bytes += block.sizes.back();
  }
  const auto found = threads.sorted();
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [thread, total] : expected) {
    const ThreadTotal& other = found.at(thread);
    ASSERT_EQ(other.calls, total.calls);
    ASSERT_EQ(other.asked_bytes, total.asked_bytes);
    ASSERT_EQ(other.live_count, total.live_count);
    ASSERT_EQ(other.live_bytes, total.live_bytes);
    ASSERT_EQ(other.foreign_frees, total.foreign_frees);
    ASSERT_EQ(other.freed_by_others, total.freed_by_others);
  }
}

std::vector<TimeSample> random_samples(tests::Random& random, size_t events) {
  std::vector<TimeSample> samples;
  uint64_t now = 0;
  for (uint64_t event = 0; event <= events; event += random.below(40)) {
    now += random.below(100'000);
    samples.push_back({event, now});
  }
  return samples;
}

// As a tape reader with one chunk would give it.
schema::EventBatch batch_of(const std::vector<Event>& events, size_t at, size_t count,
                            const std::vector<TimeSample>& samples, size_t& next_sample) {
  schema::EventBatch batch;
  batch.events.assign(events.begin() + static_cast<std::ptrdiff_t>(at),
                      events.begin() + static_cast<std::ptrdiff_t>(at + count));
  while (next_sample < samples.size() && samples[next_sample].event <= at + count) {
    batch.times.push_back(samples[next_sample++]);
  }
  if (next_sample < samples.size()) batch.next_time = samples[next_sample];
  return batch;
}

void follow_profile(tests::Random& random, const std::vector<Event>& events) {
  const std::vector<TimeSample> samples = random_samples(random, events.size());
  SlotResolver resolver(events.size());
  ResolvedBatch resolved;
  TapeProfile profile;
  ReferenceProfile reference(samples);
  const uint64_t kept_after = 1 + random.below(events.size());
  resolver.keep_live_after(kept_after);
  size_t next_sample = 0;
  for (size_t at = 0, count = 0; at < events.size(); at += count) {
    count = std::min<size_t>(events.size() - at, 1 + random.below(50));
    const schema::EventBatch batch = batch_of(events, at, count, samples, next_sample);
    ASSERT_TRUE(resolver.resolve(batch.events, at, resolved).ok());
    profile.add(batch, at, resolved.ops);
  }
  resolver.finish();
  ReferenceProfile then(samples);
  for (size_t i = 0; i < events.size(); ++i) {
    reference.take(events[i]);
    if (i < kept_after) then.take(events[i]);
  }
  compare_bands(resolver.program().sizes(), reference, then);
  compare_sizes(profile.sizes(), reference);
  compare_lifetimes(resolver.program().lifetimes(), reference);
  compare_shares(resolver.program().lifetimes(), reference);
  compare_times(*profile.lifetimes_ns(), reference);
  compare_resizes(resolver.program().growth_chains(), reference);
  compare_threads(profile.threads(), reference);
}

class TapeProfileOf : public testing::Test {
 protected:
  tests::SeededRandom random_;
};

TEST_F(TapeProfileOf, PlausibleEventsIsThatOfTheReference) {
  follow_profile(random_, tests::eventful_events(random_, 20000));
}

TEST_F(TapeProfileOf, ATapeWithLossesIsThatOfTheReference) {
  follow_profile(random_, tests::eventful_events(random_, 20000, 16, true));
}

TEST_F(TapeProfileOf, ArbitraryEventsIsThatOfTheReference) {
  for (int round = 0; round < 20 && !HasFatalFailure(); ++round) {
    follow_profile(random_, tests::arbitrary_events(random_, 300));
  }
}

}  // namespace
}  // namespace heaptape::replayer
