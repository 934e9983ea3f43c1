#include "recorder/interposer/stack_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <thread>

#include "base/address/pages.h"
#include "recorder/interposer/attach.h"

namespace heaptape::recorder {
namespace {

using base::kPageBytes;

// Of the caller: a frame of its own would lie below the caller's locals.
[[gnu::always_inline]] inline uintptr_t frame_here() {
  return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

class StackMemoryTest : public testing::Test {
 protected:
  // The middle one of three pages is mapped.
  StackMemoryTest()
      : pages_(reinterpret_cast<uintptr_t>(
            mmap(nullptr, 3 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(reinterpret_cast<void*>(middle()), kPageBytes, PROT_READ | PROT_WRITE);
  }
  ~StackMemoryTest() override { munmap(reinterpret_cast<void*>(pages_), 3 * kPageBytes); }
  uintptr_t middle() const { return pages_ + kPageBytes; }
  bool can_read(uintptr_t address) const {
    uintptr_t word = 0;
    return memory_->read(address, word);
  }

  const uintptr_t pages_;
  std::unique_ptr<StackMemory> memory_ = std::make_unique<StackMemory>();
};

TEST_F(StackMemoryTest, IsTheThreadsOwnStackFromTheFrameOn) {
  int local = 0;
  memory_->begin(frame_here());
  EXPECT_TRUE(can_read(frame_here()));
  EXPECT_TRUE(can_read(reinterpret_cast<uintptr_t>(&local) / 8 * 8));
}

TEST_F(StackMemoryTest, IsTheStackOfAThreadUpToItsEnd) {
  std::thread([this] {
    memory_->begin(frame_here());
    uintptr_t address = frame_here() / 8 * 8;
    while (can_read(address)) {
      volatile const auto word = *reinterpret_cast<const uintptr_t*>(address);
      static_cast<void>(word);
      address += 8;
    }
    EXPECT_GT(address, frame_here());
  }).join();
}

// Without guards between them, the stacks of threads look like one.
TEST_F(StackMemoryTest, IsCopiedBelowTheDeepestFrameOfTheThread) {
  std::thread([this] {
    char room[8 * kPageBytes];
    memory_->begin(frame_here());
    memory_->begin(middle());
    const uintptr_t below = (reinterpret_cast<uintptr_t>(room) + kPageBytes) & ~(kPageBytes - 1);
    EXPECT_TRUE(can_read(frame_here()));
    EXPECT_TRUE(can_read(below));
    mprotect(reinterpret_cast<void*>(below), kPageBytes, PROT_NONE);
    memory_->begin(middle());
    EXPECT_FALSE(can_read(below));
    mprotect(reinterpret_cast<void*>(below), kPageBytes, PROT_READ | PROT_WRITE);
  }).join();
}

TEST_F(StackMemoryTest, IsCopiedOnOtherStacks) {
  memory_->begin(middle());
  EXPECT_TRUE(can_read(middle()));
  EXPECT_TRUE(can_read(middle() + kPageBytes - 8));
  EXPECT_FALSE(can_read(middle() + kPageBytes));
  EXPECT_FALSE(can_read(middle() - 8));
}

// A coroutine's stack may be gone by the next walk.
TEST_F(StackMemoryTest, IsCopiedAnewInEachWalk) {
  memory_->begin(frame_here());
  EXPECT_TRUE(can_read(middle()));
  mprotect(reinterpret_cast<void*>(middle()), kPageBytes, PROT_NONE);
  memory_->begin(frame_here());
  EXPECT_FALSE(can_read(middle()));
}

// Another thread may unmap it while we read.
TEST_F(StackMemoryTest, MayVanishAtAnyMoment) {
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      mprotect(reinterpret_cast<void*>(middle()), kPageBytes, PROT_NONE);
      mprotect(reinterpret_cast<void*>(middle()), kPageBytes, PROT_READ | PROT_WRITE);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    memory_->begin(frame_here());
    can_read(middle());
  }
  is_over = true;
  other.join();
  EXPECT_TRUE(can_read(middle()));
}

TEST_F(StackMemoryTest, HasNoWordThatIsNotAligned) {
  memory_->begin(middle());
  EXPECT_FALSE(can_read(middle() + 4));
}

TEST_F(StackMemoryTest, IsNowhereNearTheEndsOfTheAddressSpace) {
  memory_->begin(frame_here());
  for (const uintptr_t address :
       {uintptr_t{0}, uintptr_t{8}, UINTPTR_MAX - 7, uintptr_t{1} << 47, uintptr_t{1} << 63}) {
    EXPECT_FALSE(can_read(address)) << std::hex << address;
  }
}

// Under a system call filter.
TEST_F(StackMemoryTest, IsNotCopiedWhereWeMakeNoSystemCalls) {
  ++process.quiet;
  memory_->begin(frame_here());
  EXPECT_FALSE(can_read(middle()));
  --process.quiet;
}

}  // namespace
}  // namespace heaptape::recorder
