#include "recorder/collector/memory_owners.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace heaptape::recorder {
namespace {

using schema::MappingOp;
using Parts = std::vector<std::pair<uint64_t, std::string>>;

constexpr uint64_t kPage = 4096;

class MemoryOwnersTest : public testing::Test {
 protected:
  void call(MappingOp op, uint64_t page, uint64_t pages, uint64_t caller = 0x101) {
    owners_.note({.op = op, .range = {page * kPage, (page + pages) * kPage}, .caller = caller});
  }
  void map(uint64_t page, uint64_t pages, uint64_t caller) {
    call(MappingOp::kMap, page, pages, caller);
  }
  // Pages of each owner, in the order of addresses.
  Parts parts(const MemoryOwners& owners) {
    Parts found;
    owners.for_each_in({0, base::kAddressLimit},
                       [&](base::AddressRange part, const std::string& owner) {
                         found.emplace_back(part.bytes() / kPage, owner);
                       });
    return found;
  }
  Parts parts() {
    owners_.name_callers(code_);
    return parts(owners_);
  }

  std::vector<CodeOwner> code_ = {{{0x100, 0x200}, "one"}, {{0x200, 0x300}, "two"}};
  MemoryOwners owners_;
};

TEST_F(MemoryOwnersTest, AreThoseWhoseCodeMadeTheCall) {
  map(10, 4, 0x150);
  map(20, 2, 0x250);
  map(30, 1, 0x99);   // before all code
  map(40, 1, 0x301);  // behind it
  EXPECT_EQ(parts(), (Parts{{4, "one"}, {2, "two"}}));
}

// The call may be the last instruction of a file.
TEST_F(MemoryOwnersTest, AreFoundByTheCallAndNotByWhereItReturns) {
  map(10, 1, 0x200);
  map(20, 1, 0x300);
  map(30, 1, 0x100);
  EXPECT_EQ(parts(), (Parts{{1, "one"}, {1, "two"}}));
}

TEST_F(MemoryOwnersTest, AreTheLastOnes) {
  map(10, 6, 0x150);
  map(12, 2, 0x250);
  call(MappingOp::kUnmap, 15, 5);
  EXPECT_EQ(parts(), (Parts{{2, "one"}, {2, "two"}, {1, "one"}}));
}

TEST_F(MemoryOwnersTest, HaveTheBreakToo) {
  call(MappingOp::kGrowBreak, 10, 8, 0x250);
  call(MappingOp::kShrinkBreak, 15, 3);
  EXPECT_EQ(parts(), (Parts{{5, "two"}}));
}

TEST_F(MemoryOwnersTest, StayWhenRightsChange) {
  map(10, 4, 0x150);
  call(MappingOp::kProtect, 10, 2, 0x250);
  call(MappingOp::kAdvise, 10, 2, 0x250);
  EXPECT_EQ(parts(), (Parts{{4, "one"}}));
}

TEST_F(MemoryOwnersTest, OwnWholePages) {
  owners_.note({.op = MappingOp::kMap, .range = {kPage, kPage + 1}, .caller = 0x150});
  EXPECT_EQ(parts(), (Parts{{1, "one"}}));
}

// The library may be closed by then.
TEST_F(MemoryOwnersTest, KeepTheirNames) {
  map(10, 1, 0x150);
  EXPECT_EQ(parts(), (Parts{{1, "one"}}));
  code_ = {{{0x100, 0x300}, "other"}};
  map(20, 1, 0x250);
  EXPECT_EQ(parts(), (Parts{{1, "one"}, {1, "other"}}));
}

// The text was read before the library was loaded.
TEST_F(MemoryOwnersTest, AreLookedForAgain) {
  map(10, 1, 0x450);
  EXPECT_EQ(parts(), Parts());
  code_.push_back({{0x400, 0x500}, "late"});
  EXPECT_EQ(parts(), (Parts{{1, "late"}}));
}

TEST_F(MemoryOwnersTest, AreNotLookedForForever) {
  map(10, 1, 0x450);
  for (int i = 0; i < 100; ++i) parts();
  code_.push_back({{0x400, 0x500}, "too late"});
  EXPECT_EQ(parts(), Parts());
}

// The parent's calls from before the fork may come later than the child's.
TEST_F(MemoryOwnersTest, OfAChildComeAfterItsParents) {
  MemoryOwners child;
  child.await_inheritance();
  child.note({.op = MappingOp::kUnmap, .range = {10 * kPage, 12 * kPage}});
  child.note({.op = MappingOp::kMap, .range = {20 * kPage, 21 * kPage}, .caller = 0x250});
  child.name_callers(code_);
  EXPECT_EQ(parts(child), Parts());
  map(10, 5, 0x150);
  child.inherit(owners_);
  EXPECT_FALSE(child.awaits_inheritance());
  child.name_callers(code_);
  EXPECT_EQ(parts(child), (Parts{{3, "one"}, {1, "two"}}));
  child.note({.op = MappingOp::kUnmap, .range = {12 * kPage, 13 * kPage}});
  EXPECT_EQ(parts(child), (Parts{{2, "one"}, {1, "two"}}));
}

TEST_F(MemoryOwnersTest, AreInherited) {
  map(10, 1, 0x150);
  MemoryOwners child;
  child.inherit(owners_);
  map(20, 1, 0x150);
  child.name_callers(code_);
  EXPECT_EQ(parts(child), (Parts{{1, "one"}}));
}

TEST_F(MemoryOwnersTest, TakeNoMoreMemoryThanAllowed) {
  for (uint64_t i = 0; i <= MemoryOwners::kMostCallers; ++i) map(10 * i, 1, 0x1000'0000 + i);
  map(5, 1, 0x150);
  EXPECT_EQ(parts(), Parts());
  map(5, 1, 0x1000'0000);
  code_ = {{{0x1000'0000 - 1, 0x1000'0000}, "first"}};
  MemoryOwners many;
  for (uint64_t i = 0; i <= MemoryOwners::kMostRanges + 5; ++i) {
    many.note({.op = MappingOp::kMap,
               .range = {2 * i * kPage, (2 * i + 1) * kPage},
               .caller = 0x1000'0000});
  }
  many.name_callers(code_);
  EXPECT_EQ(parts(many).size(), MemoryOwners::kMostRanges);
  MemoryOwners holed;
  constexpr uint64_t kPages = 3 * MemoryOwners::kMostRanges;
  holed.note({.op = MappingOp::kMap, .range = {0, kPages * kPage}, .caller = 0x1000'0000});
  for (uint64_t i = 1; i < kPages; i += 2) {
    holed.note({.op = MappingOp::kUnmap, .range = {i * kPage, (i + 1) * kPage}});
  }
  holed.name_callers(code_);
  EXPECT_EQ(parts(holed).size(), MemoryOwners::kMostRanges - 1);
}

TEST_F(MemoryOwnersTest, BearWhatAHostileProgramSays) {
  owners_.note({.op = MappingOp::kMap,
                .range = {base::kAddressLimit - 1, base::kAddressLimit},
                .caller = 0x150});
  owners_.note({.op = MappingOp::kMap, .range = {0, base::kAddressLimit}, .caller = 0});
  owners_.note({.op = MappingOp::kMap, .range = {0, base::kAddressLimit}, .caller = UINT64_MAX});
  owners_.note({.op = MappingOp::kUnmap, .range = {0, base::kAddressLimit}});
  owners_.note({.op = MappingOp::kMap, .range = {kPage, kPage}, .caller = 0x150});
  EXPECT_EQ(parts(), Parts());
}

}  // namespace
}  // namespace heaptape::recorder
