#include "base/address/pagemap.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address/pages.h"

namespace heaptape::base {
namespace {

// Four pages of this process: the first and the third written, the second only read.
class FourPages : public testing::TestWithParam<PagemapAccess> {
 protected:
  FourPages()
      : base_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(base_, MAP_FAILED);
    madvise(base_, kBytes, MADV_NOHUGEPAGE);
    page(0) = 1;
    EXPECT_EQ(page(1), 0);
    page(2) = 1;
  }
  ~FourPages() override { munmap(base_, kBytes); }

  volatile char& page(size_t number) {
    return static_cast<volatile char*>(base_)[number * kPageBytes];
  }
  AddressRange pages(size_t from, size_t to) const {
    const auto begin = reinterpret_cast<uint64_t>(base_);
    return {begin + from * kPageBytes, begin + to * kPageBytes};
  }
  static Pagemap open(uint64_t max_read_bytes = Pagemap::kMaxReadBytes) {
    return std::move(*Pagemap::open(static_cast<uint32_t>(getpid()), GetParam(), max_read_bytes));
  }

  static constexpr size_t kBytes = 4 * kPageBytes;
  void* const base_;
};

TEST_P(FourPages, AreStretchesOfWhatIsResident) {
  std::vector<PageStretch> stretches;
  Pagemap pagemap = open();
  ASSERT_TRUE(*pagemap.look(pages(0, 4), stretches));
  // Reading the file, a page of zeros looks like any other.
  const std::vector<PageStretch> scanned{
      {pages(0, 1), true}, {pages(1, 2), false}, {pages(2, 3), true}, {pages(3, 4), false}};
  const std::vector<PageStretch> read{{pages(0, 3), true}, {pages(3, 4), false}};
  EXPECT_EQ(stretches, pagemap.access() == PagemapAccess::kScan ? scanned : read);
}

// Shared memory is a file's for the kernel.
TEST_P(FourPages, MayExcludeThoseOfFiles) {
  page(1) = 1;
  page(3) = 1;
  char* const second = static_cast<char*>(base_) + kPageBytes;
  ASSERT_EQ(mmap(second, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0),
            second);
  page(1) = 1;
  Pagemap pagemap = open();
  for (const PagesOf pages_of : {PagesOf::kAll, PagesOf::kNoFile}) {
    std::vector<PageStretch> stretches;
    ASSERT_TRUE(*pagemap.look(pages(0, 4), stretches, pages_of));
    EXPECT_EQ(stretches.size(), pages_of == PagesOf::kAll ? 1u : 3u);
    EXPECT_EQ(stretches.front().pages, pages_of == PagesOf::kAll ? pages(0, 4) : pages(0, 1));
  }
}

TEST_P(FourPages, GoOnWithTheStretchBefore) {
  std::vector<PageStretch> stretches;
  page(1) = 1;
  Pagemap pagemap = open();
  for (size_t i = 0; i < 4; ++i) ASSERT_TRUE(*pagemap.look(pages(i, i + 1), stretches));
  EXPECT_EQ(stretches, (std::vector<PageStretch>{{pages(0, 3), true}, {pages(3, 4), false}}));
}

TEST_P(FourPages, AreNotReadBeyondALimit) {
  std::vector<PageStretch> stretches;
  Pagemap pagemap = open(3 * kPageBytes);
  EXPECT_TRUE(*pagemap.look(pages(0, 2), stretches));
  EXPECT_TRUE(*pagemap.look(pages(2, 3), stretches));
  EXPECT_EQ(*pagemap.look(pages(3, 4), stretches), pagemap.access() == PagemapAccess::kScan);
}

INSTANTIATE_TEST_SUITE_P(Ways, FourPages,
                         testing::Values(PagemapAccess::kScan, PagemapAccess::kRead),
                         [](const testing::TestParamInfo<PagemapAccess>& way) {
                           return way.param == PagemapAccess::kScan ? "Scan" : "Read";
                         });

TEST(Pagemap, KnowsThatItsProcessHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  auto pagemap = Pagemap::open(static_cast<uint32_t>(child));
  ASSERT_TRUE(pagemap.ok()) << pagemap.error().message;
  EXPECT_TRUE(pagemap->process_is_there());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(pagemap->process_is_there());
}

TEST(Pagemap, IsNoneOfAProcessThatIsNotThere) {
  EXPECT_FALSE(Pagemap::open(0x7fffffff).ok());
}

}  // namespace
}  // namespace heaptape::base
