// By which rule model:slabs says that it took memory from the system.
#include <gtest/gtest.h>

#include "allocators/models/slabs/slabs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

class SlabsRules : public testing::Test, protected tests::ModelHeap<SlabsModel> {
 protected:
  // Blocks of `bytes` until more memory is mapped.
  void fill(uint64_t bytes) {
    const uint64_t mapped = committed_bytes();
    while (committed_bytes() == mapped) allocate(bytes);
  }
};

TEST_F(SlabsRules, ASlabIsCutFromTheNextMappingWhereNoExtentServes) {
  fill(4096);
  EXPECT_EQ(rules(),
            "no slab of blocks of 4,096 bytes has room and no free extent serves as one: the "
            "arena's next mapping has 2,621,440 bytes");
}

TEST_F(SlabsRules, ALargeBlockIsCutFromTheNextMappingWhereNoExtentServes) {
  allocate(2 * kMebibyte);
  EXPECT_EQ(rules(),
            "no dirty, muzzy or retained extent serves for 2,101,248 bytes: the arena's next "
            "mapping has 2,621,440 bytes");
}

TEST_F(SlabsRules, TheNextMappingIsThatOfTheSeries) {
  allocate(2 * kMebibyte);
  allocate(2 * kMebibyte);
  EXPECT_TRUE(rules().ends_with("the arena's next mapping has 3,145,728 bytes")) << rules();
}

TEST_F(SlabsRules, ALargeBlockBeyondTheSeriesGetsAMappingOfItsClass) {
  allocate(7 * kMebibyte);
  EXPECT_EQ(rules(),
            "no dirty, muzzy or retained extent serves for 7,344,128 bytes, nor would the arena's "
            "next mapping (2,621,440 bytes): one of the request's class is made");
}

TEST_F(SlabsRules, ANewArenaHasItsRecordsAndAMappingOfItsOwn) {
  model().set_thread(1);
  allocate(8);
  EXPECT_EQ(rules(),
            "a new arena begins a block of records, in pages of 2,097,152 bytes; no slab of blocks "
            "of 8 bytes has room and no free extent serves as one: the arena's next mapping has "
            "2,097,152 bytes");
}

// The 32,025th does not fit.
TEST_F(SlabsRules, RecordsGetABlockWhenTheOthersAreFull) {
  allocate_many(32'025, 16384);
  EXPECT_EQ(rules(),
            "no block of records has 128 bytes left: another begins, in pages of 2,097,152 bytes");
}

}  // namespace
}  // namespace heaptape::allocators
