// model:slabs against the real jemalloc 5.3.0: the same calls must have the same results, address
// for address. Large blocks start at a random line of their first page; of them only the page is
// compared. Where the kernel puts a mapping is its own affair: addresses are compared relative to
// their mapping, and no block is aligned to more than a page.
#include <gtest/gtest.h>

#include <memory>

#include "allocators/models/model_backend.h"
#include "allocators/models/slabs/slabs_model.h"
#include "allocators/native/native_backend.h"
#include "tests/support/jemalloc.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

// What jemalloc maps is this large at least; it probes the system with single pages.
constexpr uint64_t kLeastMappingBytes = uint64_t{2} << 20;

struct Growth {
  uint64_t op;
  uint64_t bytes;

  bool operator==(const Growth&) const = default;
};

// A backend, and where its blocks are.
class Side {
 public:
  explicit Side(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  bool start() {
    const auto regions = backend_->start();
    if (regions.ok()) note(*regions);
    return regions.ok();
  }
  void run(const std::vector<ReplayOp>& ops, uint32_t slots) {
    ASSERT_TRUE(backend_->submit({done_, slots, ops, {}, {}}).ok());
    ASSERT_TRUE(backend_->collect(result_).ok());
    note(result_.regions);
    done_ += ops.size();
  }

  const Placement& placement(size_t op) const { return result_.placements[op]; }
  // Number of the mapping, and offset.
  std::pair<size_t, uint64_t> place(size_t op) const {
    const uint64_t address = result_.placements[op].address;
    for (size_t i = mappings_.size(); i-- > 0;) {
      if (address >= mappings_[i].begin && address < mappings_[i].end) {
        return {i, address - mappings_[i].begin};
      }
    }
    return {SIZE_MAX, address};
  }
  const std::vector<Growth>& growth() const { return growth_; }

 private:
  void note(const std::vector<RegionEvent>& regions) {
    for (const RegionEvent& region : regions) {
      if (region.range.bytes() < kLeastMappingBytes) continue;
      EXPECT_EQ(region.kind, RegionEvent::Kind::kCommit);
      mappings_.push_back(region.range);
      growth_.push_back({done_ + region.op, region.range.bytes()});
    }
  }

  std::unique_ptr<Backend> backend_;
  BatchResult result_;
  std::vector<AddressRange> mappings_;
  std::vector<Growth> growth_;
  uint64_t done_ = 0;
};

class SlabsAgainstJemalloc : public testing::Test {
 protected:
  void SetUp() override {
    const tests::JemallocFacts& facts = tests::jemalloc_facts();
    if (!facts.unusable.empty()) GTEST_SKIP() << facts.unusable;
    if (!facts.other_build.empty()) GTEST_SKIP() << facts.other_build;
  }

  void start(const std::string& conf, const std::vector<std::string>& options) {
    NativeOptions native;
    native.name = "jemalloc";
    native.library = "libjemalloc.so.2";
    native.environment = {"MALLOC_CONF=" + conf};
    native.touch = Touch::kNone;
    real_ = std::make_unique<Side>(std::make_unique<NativeBackend>(native));
    const auto values = base::parse_values("model", SlabsModel::parameters(), options);
    ASSERT_TRUE(values.ok());
    model_ = std::make_unique<Side>(std::make_unique<ModelBackend<SlabsModel>>(*values));
    ASSERT_TRUE(real_->start() && model_->start());
  }

  // Random calls of at most `slots` live blocks up to `most_bytes`; compares all of them.
  void compare(uint64_t calls, uint32_t slots, uint64_t most_bytes) {
    SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed_));
    live_.assign(slots, false);
    for (uint64_t done = 0; done < calls && !HasFailure(); done += 10000) {
      std::vector<ReplayOp> ops;
      while (ops.size() < 10000) ops.push_back(next_op(most_bytes));
      real_->run(ops, slots);
      model_->run(ops, slots);
      for (size_t i = 0; i < ops.size() && !HasFailure(); ++i) compare_placement(i, done + i);
    }
    EXPECT_EQ(real_->growth(), model_->growth());
  }

 private:
  uint64_t any_size(uint64_t most_bytes) {
    const uint64_t kind = random_.below(64);
    if (kind == 0) return 1 + random_.below(most_bytes);
    if (kind < 4) return 1 + random_.below(std::min<uint64_t>(most_bytes, 300000));
    if (kind < 12) return 1 + random_.below(std::min<uint64_t>(most_bytes, 40000));
    return 1 + random_.below(kind < 40 ? 600 : std::min<uint64_t>(most_bytes, 15000));
  }

  ReplayOp next_op(uint64_t most_bytes) {
    ReplayOp op;
    op.slot = static_cast<uint32_t>(random_.below(live_.size()));
    if (live_[op.slot] && !random_.chance(4)) {
      op.kind = ReplayKind::kFree;
      live_[op.slot] = false;
      return op;
    }
    op.kind = live_[op.slot] ? ReplayKind::kRealloc : ReplayKind::kMalloc;
    op.size = any_size(most_bytes);
    if (!live_[op.slot] && random_.chance(8)) {
      op.kind = random_.chance(2) ? ReplayKind::kCalloc : ReplayKind::kPosixMemalign;
      op.log2 = static_cast<uint8_t>(3 + random_.below(10));
    }
    live_[op.slot] = true;
    return op;
  }

  void compare_placement(size_t i, uint64_t call) {
    ASSERT_EQ(real_->placement(i).usable_bytes, model_->placement(i).usable_bytes) << call;
    if (model_->placement(i).address == 0) return;
    auto real = real_->place(i);
    auto model = model_->place(i);
    if (model_->placement(i).usable_bytes > slabs::kSmallMaxBytes) {
      real.second /= kPageBytes;
      model.second /= kPageBytes;
    }
    ASSERT_EQ(real, model) << call;
  }

  const uint64_t seed_ = tests::test_seed();
  tests::Random random_{seed_};
  std::vector<bool> live_;
  std::unique_ptr<Side> real_;
  std::unique_ptr<Side> model_;
};

TEST(SlabsAndJemalloc, HaveTheSameSizeClasses) {
  if (const std::string& why = tests::jemalloc_facts().unusable; !why.empty()) GTEST_SKIP() << why;
  const auto& sizes = tests::jemalloc_facts().sizes;
  ASSERT_GT(sizes.size(), 1000u);
  size_t next = 0;
  for (uint64_t bytes = 1; bytes <= 4 << 20; ++bytes) {
    if (sizes[next + 1].bytes == bytes) ++next;
    ASSERT_EQ(slabs::class_bytes(slabs::class_of(bytes)), sizes[next].usable) << bytes;
  }
  for (; next < sizes.size(); ++next) {
    ASSERT_EQ(slabs::class_bytes(slabs::class_of(sizes[next].bytes)), sizes[next].usable);
  }
}

TEST_F(SlabsAgainstJemalloc, PutsFewBlocksWhereItDoes) {
  start("dirty_decay_ms:-1", {"decay=off"});
  compare(300000, 100, 300000);
}

TEST_F(SlabsAgainstJemalloc, PutsManyBlocksWhereItDoes) {
  start("dirty_decay_ms:-1", {"decay=off"});
  compare(300000, 20000, 100000);
}

TEST_F(SlabsAgainstJemalloc, PutsSmallBlocksWhereItDoes) {
  start("dirty_decay_ms:-1", {"decay=off"});
  compare(300000, 1000, 14336);
}

TEST_F(SlabsAgainstJemalloc, PutsHugeBlocksWhereItDoes) {
  start("dirty_decay_ms:-1", {"decay=off"});
  compare(50000, 100, 40 << 20);
}

TEST_F(SlabsAgainstJemalloc, PutsBlocksWhereItDoesWithoutCaches) {
  start("dirty_decay_ms:-1,tcache:false", {"decay=off", "tcache=off"});
  compare(300000, 3000, 300000);
}

TEST_F(SlabsAgainstJemalloc, PutsBlocksWhereItDoesWhenPurgingAtOnce) {
  start("dirty_decay_ms:0", {"dirty_decay_ms=0"});
  compare(100000, 300, 20 << 20);
}

TEST_F(SlabsAgainstJemalloc, PutsBlocksWhereItDoesWithAnotherThreshold) {
  start("dirty_decay_ms:-1,oversize_threshold:65536", {"decay=off", "oversize_threshold=64KiB"});
  compare(100000, 300, 300000);
}

}  // namespace
}  // namespace heaptape::allocators
