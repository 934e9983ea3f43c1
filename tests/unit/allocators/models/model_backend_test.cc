// A model behind the contract of a backend. The model here is as small as one can be.
#include "allocators/models/model_backend.h"

#include <gtest/gtest.h>

namespace heaptape::allocators {
namespace {

// Hands out one page after another, never takes one back, and notes what it was asked for.
class PagePerBlock {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 20;
  struct Request {
    uint64_t bytes;
    uint64_t alignment;
    bool operator==(const Request&) const = default;
  };
  static inline std::vector<Request> requests;
  static inline std::vector<uint64_t> released;
  static inline std::vector<std::pair<uint32_t, size_t>> ended;  // and after how many requests

  PagePerBlock(AddressSpace& space, const base::Values&) : space_(space) {
    requests.clear();
    released.clear();
    ended.clear();
    space_.commit({kModelBase - kPageBytes, kModelBase});
  }

  Placement allocate(uint64_t bytes, uint64_t alignment) {
    requests.push_back({bytes, alignment});
    if (bytes > kMostBytes) return {};
    const uint64_t size = std::max<uint64_t>(1, (bytes + kPageBytes - 1) / kPageBytes);
    const AddressRange range{next_, next_ + size * kPageBytes};
    space_.commit(range);
    next_ = range.end;
    return {range.begin, range.bytes()};
  }
  Placement allocate_zeroed(uint64_t bytes) {
    const Placement placed = allocate(bytes, 0);
    zeroed_bytes_ += bytes;
    return placed;
  }
  Placement reallocate(uint64_t address, uint64_t bytes) {
    const Placement placed = allocate(bytes, 0);
    if (placed.address != 0) release(address);
    return placed;
  }
  void release(uint64_t address) { released.push_back(address); }
  void end_thread(uint32_t thread) { ended.emplace_back(thread, requests.size()); }
  std::vector<AddressRange> absent() const { return {{kModelBase, kModelBase + kPageBytes}}; }
  std::vector<Counter> counters() const { return {{"bytesZeroed", zeroed_bytes_}}; }
  uint64_t work() const { return requests.size(); }
  static const char* work_unit() { return "requests"; }
  static BackendTraits traits() { return {}; }
  static std::vector<base::Parameter> parameters() { return {}; }

 private:
  AddressSpace& space_;
  uint64_t next_ = kModelBase;
  uint64_t zeroed_bytes_ = 0;
};

class ToyBackend : public testing::Test {
 protected:
  ToyBackend() { before_ = *backend_.start(); }

  BatchResult run(const std::vector<ReplayOp>& ops, uint32_t slot_limit = 8) {
    const std::vector<uint64_t> recorded(ops.size());
    BatchResult result;
    EXPECT_TRUE(backend_.submit({0, slot_limit, ops, recorded, {}}).ok());
    EXPECT_TRUE(backend_.collect(result).ok());
    return result;
  }
  Placement run_one(ReplayKind kind, uint32_t slot, uint64_t size, uint8_t alignment_log2 = 0) {
    return run({{kind, alignment_log2, 0, slot, size}}).placements[0];
  }
  PagePerBlock::Request last_request() { return PagePerBlock::requests.back(); }

  ModelBackend<PagePerBlock> backend_{base::Values()};
  std::vector<RegionEvent> before_;
};

TEST_F(ToyBackend, StartsWithWhatTheModelTookWhenItWasMade) {
  ASSERT_EQ(before_.size(), 1u);
  EXPECT_EQ(before_[0].range, (AddressRange{kModelBase - kPageBytes, kModelBase}));
}

TEST_F(ToyBackend, EndsThreadsBetweenTheirCalls) {
  const std::vector<ReplayOp> ops(3, {ReplayKind::kMalloc, 0, 0, 0, 8});
  const std::vector<uint64_t> recorded(ops.size());
  const std::vector<schema::ThreadEnd> ends = {{101, 4}, {103, 65538}};
  ASSERT_TRUE(backend_.submit({100, 8, ops, recorded, {}, {}, {}, ends}).ok());
  EXPECT_EQ(PagePerBlock::ended, (std::vector<std::pair<uint32_t, size_t>>{{4, 1}, {2, 3}}));
}

TEST_F(ToyBackend, AsksForTheAlignmentOfEachKind) {
  using Request = PagePerBlock::Request;
  run_one(ReplayKind::kMalloc, 0, 10);
  EXPECT_EQ(last_request(), (Request{10, 0}));
  for (const auto kind :
       {ReplayKind::kMemalign, ReplayKind::kAlignedAlloc, ReplayKind::kPosixMemalign}) {
    run_one(kind, 0, 10, 6);
    EXPECT_EQ(last_request(), (Request{10, 64})) << name_of(kind);
  }
  run_one(ReplayKind::kValloc, 0, 10);
  EXPECT_EQ(last_request(), (Request{10, 4096}));
}

TEST_F(ToyBackend, RoundsPvallocUpToPages) {
  run_one(ReplayKind::kPvalloc, 0, 10);
  EXPECT_EQ(last_request().bytes, 4096u);
  run_one(ReplayKind::kPvalloc, 0, 4096);
  EXPECT_EQ(last_request().bytes, 4096u);
}

TEST_F(ToyBackend, RefusesPvallocOfMoreThanThereAreAddresses) {
  EXPECT_EQ(run_one(ReplayKind::kPvalloc, 0, UINT64_MAX).address, 0u);
  EXPECT_EQ(run_one(ReplayKind::kPvalloc, 0, UINT64_MAX - 4095).address, 0u);
}

TEST_F(ToyBackend, TellsTheModelWhatIsToBeZeroed) {
  run_one(ReplayKind::kCalloc, 0, 100);
  EXPECT_EQ(backend_.counters()[0].value, 100u);
}

TEST_F(ToyBackend, ReleasesTheBlockThatTheSlotHolds) {
  const Placement first = run_one(ReplayKind::kMalloc, 0, 10);
  const Placement second = run_one(ReplayKind::kMalloc, 1, 10);
  run_one(ReplayKind::kFree, 1, 0);
  run_one(ReplayKind::kFree, 0, 0);
  EXPECT_EQ(PagePerBlock::released, (std::vector<uint64_t>{second.address, first.address}));
}

TEST_F(ToyBackend, FollowsABlockThatMoves) {
  run_one(ReplayKind::kMalloc, 0, 10);
  const Placement moved = run_one(ReplayKind::kRealloc, 0, 5000);
  run_one(ReplayKind::kFree, 0, 0);
  EXPECT_EQ(PagePerBlock::released.back(), moved.address);
}

TEST_F(ToyBackend, KeepsABlockWhoseResizeIsRefused) {
  const Placement block = run_one(ReplayKind::kMalloc, 0, 10);
  EXPECT_EQ(run_one(ReplayKind::kRealloc, 0, PagePerBlock::kMostBytes + 1).address, 0u);
  run_one(ReplayKind::kFree, 0, 0);
  EXPECT_EQ(PagePerBlock::released, (std::vector<uint64_t>{block.address}));
}

TEST_F(ToyBackend, ReleasesNothingForABlockThatWasRefused) {
  EXPECT_EQ(run_one(ReplayKind::kMalloc, 0, PagePerBlock::kMostBytes + 1).address, 0u);
  run_one(ReplayKind::kFree, 0, 0);
  EXPECT_TRUE(PagePerBlock::released.empty());
}

TEST_F(ToyBackend, AllocatesWhereARefusedBlockIsResized) {
  run_one(ReplayKind::kMalloc, 0, PagePerBlock::kMostBytes + 1);
  EXPECT_NE(run_one(ReplayKind::kRealloc, 0, 10).address, 0u);
  EXPECT_TRUE(PagePerBlock::released.empty());
}

TEST_F(ToyBackend, DoesNothingForSkippedEventsAlsoBeforeAnyBlock) {
  const BatchResult result =
      run({{ReplayKind::kNothing, 0, 0, 0, 0}, {ReplayKind::kFreeNull, 0, 0, 0, 0}}, 0);
  EXPECT_EQ(result.placements, (std::vector<Placement>{{0, 0}, {0, 0}}));
  EXPECT_TRUE(PagePerBlock::requests.empty());
}

TEST_F(ToyBackend, StampsChangesOfMemoryWithTheirOp) {
  const BatchResult result = run({{ReplayKind::kMalloc, 0, 0, 0, 10},
                                  {ReplayKind::kFree, 0, 0, 0, 0},
                                  {ReplayKind::kMalloc, 0, 0, 0, 10}});
  ASSERT_EQ(result.regions.size(), 2u);
  EXPECT_EQ(result.regions[0].op, 0u);
  EXPECT_EQ(result.regions[1].op, 2u);
}

TEST_F(ToyBackend, CountsAllCommittedMemoryButTheAbsentAsResident) {
  run_one(ReplayKind::kMalloc, 0, 3 * 4096);
  const AddressRange region{kModelBase - 4096, kModelBase + 3 * 4096};
  const auto residency = backend_.residency({&region, 1});
  EXPECT_EQ(residency->resident_bytes, 3 * 4096u);
  EXPECT_EQ(residency->absent->size(), 1u);
}

}  // namespace
}  // namespace heaptape::allocators
