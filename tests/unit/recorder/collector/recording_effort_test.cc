// How much time the recorder spends on making a tape small: less while it cannot keep up.
#include <gtest/gtest.h>

#include "recorder/collector/ring_merge.h"
#include "tests/support/fake_session.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::malloc_record;
using tests::RingPen;

// Keeps the ages of each chunk.
class KeptAges : public schema::ChunkSink {
 public:
  schema::EventColumns write(schema::EventColumns chunk) override {
    const auto ages = chunk.ages.bytes();
    chunks.emplace_back(ages.begin(), ages.end());
    return {};
  }
  void save(schema::EventPart) override {}
  std::optional<schema::SizeClasses> size_classes(uint64_t) const override {
    return schema::SizeClasses::kChunks;
  }

  bool effort_pays() const override { return pays; }

  std::vector<std::vector<uint8_t>> chunks;
  bool pays = false;
};

class RecordingEffort : public testing::Test {
 protected:
  RecordingEffort() { merge_.add_ring(0); }
  // Ends a chunk after a drain of so many blocks that are freed at once.
  void record_chunk(size_t blocks) {
    for (size_t i = 0; i < blocks; ++i) {
      pen_.write(malloc_record(0x1000, 0)).write(free_record(0x1000, 0));
    }
    merge_.drain(0, 1'000'000'000);
    tape_.flush();
  }

  // The ages that they have then.
  static std::vector<uint8_t> by_age(size_t blocks) { return std::vector<uint8_t>(blocks, 2); }
  static std::vector<uint8_t> by_address(size_t blocks) { return std::vector<uint8_t>(blocks, 1); }
  // A sixteenth of the backlog, and more; a block has three words.
  static constexpr size_t kManyBlocks =
      (64 << 10) / 16 / (3 * sizeof(uint64_t)) + kSegmentWords / 3;

  tests::FakeSession session_;
  ProcessSlot& slot_ = session_.join(0, 42);
  KeptAges sink_;
  schema::TapeEncoder tape_{sink_};
  Backlog backlog_{64 << 10};
  RingMerge merge_{backlog_, session_.view(), 0, tape_, 1'000'000'000};
  RingPen pen_{session_, 0};
};

TEST_F(RecordingEffort, IsLowInTheChunkAfterTheBacklogWasLong) {
  for (const size_t blocks : {size_t{10}, kManyBlocks, size_t{10}, size_t{10}})
    record_chunk(blocks);
  ASSERT_EQ(sink_.chunks.size(), 4u);
  EXPECT_EQ(sink_.chunks[0], by_age(10));
  EXPECT_EQ(sink_.chunks[1], by_age(kManyBlocks));
  EXPECT_EQ(sink_.chunks[2], by_address(10));
  EXPECT_EQ(sink_.chunks[3], by_age(10));
}

TEST_F(RecordingEffort, IsFullWhereItPays) {
  sink_.pays = true;
  for (const size_t blocks : {kManyBlocks, size_t{10}}) record_chunk(blocks);
  EXPECT_EQ(sink_.chunks[1], by_age(10));
}

// Or nobody would notice that it has begun to pay.
TEST_F(RecordingEffort, IsFullInEveryEighthChunk) {
  for (int i = 0; i < 17; ++i) record_chunk(kManyBlocks);
  ASSERT_EQ(sink_.chunks.size(), 17u);
  for (size_t i = 0; i < 17; ++i) {
    const bool is_full = i % 8 == 0;
    EXPECT_EQ(sink_.chunks[i], is_full ? by_age(kManyBlocks) : by_address(kManyBlocks)) << i;
  }
}

}  // namespace
}  // namespace heaptape::recorder
