#include "recorder/interposer/foreign_bytes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "base/address/pages.h"
#include "recorder/interposer/attach.h"

namespace heaptape::recorder {
namespace {

using base::kPageBytes;

// Two pages of sevens, behind which nothing can be read.
class ForeignBytes : public testing::Test {
 protected:
  ForeignBytes()
      : pages_(static_cast<char*>(
            mmap(nullptr, 3 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(pages_, 2 * kPageBytes, PROT_READ | PROT_WRITE);
    std::memset(pages_, 7, 2 * kPageBytes);
  }
  ~ForeignBytes() override { munmap(pages_, 3 * kPageBytes); }

  size_t copy(size_t from, size_t bytes) {
    std::memset(copy_, 0, sizeof copy_);
    return copy_foreign(reinterpret_cast<uintptr_t>(pages_) + from, copy_, bytes);
  }
  size_t sevens() const {
    size_t count = 0;
    while (count < sizeof copy_ && copy_[count] == 7) ++count;
    return count;
  }

  char* const pages_;
  char copy_[kPageBytes] = {};
};

TEST_F(ForeignBytes, AreCopied) {
  EXPECT_EQ(copy(100, 32), 32u);
  EXPECT_EQ(sevens(), 32u);
  EXPECT_EQ(copy(0, kPageBytes), kPageBytes);
  EXPECT_EQ(sevens(), kPageBytes);
}

TEST_F(ForeignBytes, AreCopiedOutOfTwoPages) {
  for (size_t first = 1; first < 32; ++first) {
    EXPECT_EQ(copy(kPageBytes - first, 32), 32u);
    EXPECT_EQ(sevens(), 32u);
  }
}

TEST_F(ForeignBytes, AreCopiedAsFarAsThereAreAny) {
  for (size_t first = 1; first < 32; ++first) {
    EXPECT_EQ(copy(2 * kPageBytes - first, 32), first);
    EXPECT_EQ(sevens(), first);
  }
  EXPECT_EQ(copy(2 * kPageBytes, 32), 0u);
  EXPECT_EQ(copy_foreign(16, copy_, 8), 0u);
}

TEST_F(ForeignBytes, AreNotCopiedWhereNoSystemCallIsAllowed) {
  ++process.quiet;
  EXPECT_EQ(copy(100, 32), 0u);
  --process.quiet;
  EXPECT_EQ(copy(100, 32), 32u);
}

}  // namespace
}  // namespace heaptape::recorder
