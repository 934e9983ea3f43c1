#include "allocators/native/resident_pages.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/address/pages.h"
#include "tests/support/seeded_random.h"

namespace heaptape::allocators {
namespace {

using base::kPageBytes;
using base::PagemapAccess;

// Pages of this process, none of them resident until it is touched.
class OwnMapping : public testing::TestWithParam<PagemapAccess> {
 protected:
  static constexpr uint64_t kPages = 64;
  explicit OwnMapping(uint64_t page_count = kPages) : page_count_(page_count) {
    void* pages = mmap(nullptr, page_count * kPageBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(pages, MAP_FAILED);
    madvise(pages, page_count * kPageBytes, MADV_NOHUGEPAGE);
    begin_ = reinterpret_cast<uint64_t>(pages);
  }
  ~OwnMapping() override { munmap(reinterpret_cast<void*>(begin_), page_count_ * kPageBytes); }

  void touch(uint64_t page) { *reinterpret_cast<volatile char*>(begin_ + page * kPageBytes) = 1; }
  AddressRange pages(uint64_t from, uint64_t to) const {
    return {begin_ + from * kPageBytes, begin_ + to * kPageBytes};
  }
  Residency residency(std::vector<AddressRange> regions) {
    const auto residency = ResidentPages(getpid(), GetParam()).look(regions);
    EXPECT_TRUE(residency.ok()) << residency.error().message;
    return *residency;
  }

  const uint64_t page_count_;
  uint64_t begin_;
};

TEST_P(OwnMapping, IsAbsentUntilItIsTouched) {
  const Residency none = residency({pages(0, kPages)});
  EXPECT_EQ(none.resident_bytes, 0u);
  EXPECT_EQ(*none.absent, (std::vector<AddressRange>{pages(0, kPages)}));
}

TEST_P(OwnMapping, IsResidentWhereItWasTouched) {
  for (const uint64_t page : {0u, 5u, 6u, 63u}) touch(page);
  const Residency some = residency({pages(0, kPages)});
  EXPECT_EQ(some.resident_bytes, 4 * kPageBytes);
  EXPECT_EQ(*some.absent, (std::vector<AddressRange>{pages(1, 5), pages(7, 63)}));
}

TEST_P(OwnMapping, IsAbsentAgainAfterItWasGivenBack) {
  touch(3);
  madvise(reinterpret_cast<void*>(begin_), kPages * kPageBytes, MADV_DONTNEED);
  EXPECT_EQ(residency({pages(0, kPages)}).resident_bytes, 0u);
}

TEST_P(OwnMapping, IsLookedAtOnlyInTheRegionsAskedFor) {
  for (uint64_t page = 0; page < kPages; ++page) touch(page);
  const Residency part = residency({pages(2, 4), pages(10, 11)});
  EXPECT_EQ(part.resident_bytes, 3 * kPageBytes);
  EXPECT_TRUE(part.absent->empty());
}

TEST_P(OwnMapping, TakesPartsOfPagesForWholeOnes) {
  touch(0);
  EXPECT_EQ(residency({{begin_ + 16, begin_ + 32}}).resident_bytes, kPageBytes);
  EXPECT_EQ(residency({{begin_ + 16, begin_ + kPageBytes + 16}}).resident_bytes, kPageBytes);
}

TEST_P(OwnMapping, HasMoreStretchesThanOneScanTells) {
  constexpr uint64_t kMany = 6000;
  void* pages =
      mmap(nullptr, kMany * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  madvise(pages, kMany * kPageBytes, MADV_NOHUGEPAGE);
  for (uint64_t page = 0; page < kMany; page += 2) static_cast<char*>(pages)[page * kPageBytes] = 1;
  const auto begin = reinterpret_cast<uint64_t>(pages);
  const Residency all = residency({{begin, begin + kMany * kPageBytes}});
  EXPECT_EQ(all.resident_bytes, kMany / 2 * kPageBytes);
  EXPECT_EQ(all.absent->size(), kMany / 2);
  munmap(pages, kMany * kPageBytes);
}

// A thousand times something changes, and what is remembered is compared with a first look.
class RememberedPages : public OwnMapping {
 protected:
  static constexpr uint64_t kMany = 2048;
  RememberedPages() : OwnMapping(kMany) {}

  AddressRange draw_range() {
    const uint64_t from = random_.below(kMany);
    return pages(from, from + 1 + random_.below(std::min<uint64_t>(kMany - from, 300)));
  }
  void give_back(AddressRange range) {
    madvise(reinterpret_cast<void*>(range.begin), range.bytes(), MADV_DONTNEED);
  }

  tests::Random random_{1};
  ResidentPages remembered_{getpid(), GetParam()};
};

TEST_P(RememberedPages, AreThoseOfAFirstLook) {
  for (int step = 0; step < 1000; ++step) {
    const AddressRange range = draw_range();
    switch (random_.below(4)) {
      case 0:
        give_back(range);
        remembered_.forget(range);
        break;
      case 1:
        give_back(range);
        remembered_.forget_all();
        break;
      default:
        for (uint64_t at = range.begin; at < range.end; at += kPageBytes)
          touch((at - begin_) / kPageBytes);
        break;
    }
    std::vector<AddressRange> regions = {pages(0, kMany)};
    if (step % 3 != 0) regions = {draw_range()};
    const auto now = remembered_.look(regions);
    const Residency first = residency(regions);
    ASSERT_EQ(now->resident_bytes, first.resident_bytes) << step;
    ASSERT_EQ(*now->absent, *first.absent) << step;
  }
}

// A stretch that was resident is not looked at again: who gives it back without a word is not seen.
TEST_P(RememberedPages, AreNotLookedAtAgain) {
  for (uint64_t page = 0; page < kMany; ++page) touch(page);
  const uint64_t whole = remembered_.look(std::vector{pages(0, kMany)})->resident_bytes;
  EXPECT_EQ(whole, kMany * kPageBytes);
  give_back(pages(0, kMany));
  EXPECT_GE(remembered_.look(std::vector{pages(0, kMany)})->resident_bytes, whole / 2);
}

INSTANTIATE_TEST_SUITE_P(Access, RememberedPages,
                         testing::Values(PagemapAccess::kScan, PagemapAccess::kRead),
                         [](const auto& access) {
                           return access.param == PagemapAccess::kScan ? "Scan" : "Read";
                         });
INSTANTIATE_TEST_SUITE_P(Access, OwnMapping,
                         testing::Values(PagemapAccess::kScan, PagemapAccess::kRead),
                         [](const auto& access) {
                           return access.param == PagemapAccess::kScan ? "Scan" : "Read";
                         });

// Entry by entry that would take seconds.
TEST(Residency, OfMoreThanATebibyteReadEntryByEntryIsThatOfTheProcess) {
  const std::vector<AddressRange> huge = {{0, (uint64_t{1} << 40) + kPageBytes}};
  const auto whole = ResidentPages(getpid(), PagemapAccess::kRead).look(huge);
  ASSERT_TRUE(whole.ok());
  EXPECT_GT(whole->resident_bytes, 0u);
  EXPECT_FALSE(whole->absent.has_value());
}

TEST(Residency, OfNoRegionIsNothing) {
  EXPECT_EQ(ResidentPages(getpid()).look({})->resident_bytes, 0u);
}

TEST(Residency, OfAProcessThatIsGoneIsAnError) {
  const auto gone = ResidentPages(INT32_MAX).look({});
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message.find("pagemap"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::allocators
