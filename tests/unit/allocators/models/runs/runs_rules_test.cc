// By which rule model:runs says that it took memory from the system.
#include <gtest/gtest.h>

#include <string>

#include "allocators/models/runs/runs_model.h"
#include "tests/support/model_heap.h"

namespace heaptape::allocators::runs {
namespace {

class RunsRules : public testing::Test, protected tests::ModelHeap<RunsModel> {};

TEST_F(RunsRules, ASmallRunGetsAChunkWhereNoPagesAreFree) {
  allocate(2048);
  const std::string pages = std::to_string(kRunGeometries[bin_of(2048)].pages);
  EXPECT_EQ(rules(), "no run of the size class has room, and neither " + pages +
                         " free pages in a row nor an empty chunk are kept: a new chunk of "
                         "1,048,576 bytes");
}

TEST_F(RunsRules, ALargeRunGetsAChunkWhereNoPagesAreFree) {
  allocate(100'000);
  EXPECT_EQ(rules(),
            "neither 25 free pages in a row nor an empty chunk are kept: a new chunk of 1,048,576 "
            "bytes");
}

TEST_F(RunsRules, ABlockAboveTheLargestRunHasChunksOfItsOwn) {
  allocate(3'000'000);
  EXPECT_EQ(rules(),
            "above 1,040,384 bytes a block has chunks of its own, and no kept chunks serve for "
            "3,145,728 bytes: new ones");
}

TEST_F(RunsRules, ABlockThatNoRunCanAlignHasChunksOfItsOwn) {
  allocate(8192, kRunChunkBytes);
  EXPECT_EQ(rules(),
            "no run holds a block aligned to 1,048,576 bytes: it has chunks of its own, and no "
            "kept ones serve: new ones");
}

}  // namespace
}  // namespace heaptape::allocators::runs
