#include "recorder/collector/own_mappings.h"

#include <gtest/gtest.h>

#include <vector>

namespace heaptape::recorder {
namespace {

constexpr uint64_t kBytes = 200'000;

std::vector<uint64_t> begins(const OwnMappings& mappings) {
  std::vector<uint64_t> begins;
  mappings.for_each([&begins](base::AddressRange range) { begins.push_back(range.begin); });
  return begins;
}

// The parent's calls from before the fork may come later than the child's.
TEST(OwnMappings, AreInheritedButForThoseGivenUpMeanwhile) {
  OwnMappings parent;
  for (const uint64_t address : {0x100010, 0x200010, 0x300010}) parent.insert(address, kBytes);
  OwnMappings child;
  child.await_inheritance();
  child.erase(0x200010);
  child.insert(0x400010, kBytes);
  child.insert(0x500010, kBytes);
  child.erase(0x500010);
  child.inherit(&parent);
  EXPECT_EQ(begins(child), (std::vector<uint64_t>{0x100000, 0x300000, 0x400000}));
  child.erase(0x100010);
  EXPECT_EQ(begins(child), (std::vector<uint64_t>{0x300000, 0x400000}));
  EXPECT_EQ(begins(parent).size(), 3u);
}

TEST(OwnMappings, MayComeFromNobody) {
  OwnMappings child;
  child.await_inheritance();
  child.erase(0x200010);
  child.inherit(nullptr);
  EXPECT_EQ(child.count(), 0u);
}

}  // namespace
}  // namespace heaptape::recorder
