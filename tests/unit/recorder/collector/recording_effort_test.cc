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

  std::vector<std::vector<uint8_t>> chunks;
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

  tests::FakeSession session_;
  ProcessSlot& slot_ = session_.join(0, 42);
  KeptAges sink_;
  schema::TapeEncoder tape_{sink_};
  RingMerge merge_{session_.view(), 0, tape_, 1'000'000'000};
  RingPen pen_{session_, 0};
};

TEST_F(RecordingEffort, IsLowInTheChunkAfterARingWasHalfFull) {
  const size_t half = kRingWords / 2 / 3 + 200;  // three words a block
  for (const size_t blocks : {size_t{10}, half, size_t{10}, size_t{10}}) record_chunk(blocks);
  ASSERT_EQ(sink_.chunks.size(), 4u);
  const std::vector<uint8_t> by_age(10, 2);
  const std::vector<uint8_t> by_address(10, 1);
  EXPECT_EQ(sink_.chunks[0], by_age);
  EXPECT_EQ(sink_.chunks[1], std::vector<uint8_t>(half, 2));
  EXPECT_EQ(sink_.chunks[2], by_address);
  EXPECT_EQ(sink_.chunks[3], by_age);
}

}  // namespace
}  // namespace heaptape::recorder
