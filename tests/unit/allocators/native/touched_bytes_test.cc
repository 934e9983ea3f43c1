// Which bytes of a block the worker writes, read from its memory.
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "allocators/native/native_backend.h"
#include "base/address/pages.h"

namespace heaptape::allocators {
namespace {

class TouchedBytes : public testing::TestWithParam<Touch> {
 protected:
  TouchedBytes() {
    NativeOptions options;
    options.name = "glibc";
    options.touch = GetParam();
    backend_ = std::make_unique<NativeBackend>(options);
    const auto started = backend_->start();
    EXPECT_TRUE(started.ok()) << started.error().message;
    std::ifstream("/proc/thread-self/children") >> worker_;
  }
  BatchResult run(const std::vector<ReplayOp>& ops) {
    const std::vector<uint64_t> recorded(ops.size());
    BatchResult result;
    EXPECT_TRUE(backend_->submit({0, static_cast<uint32_t>(ops.size()), ops, recorded, {}}).ok());
    EXPECT_TRUE(backend_->collect(result).ok());
    return result;
  }
  // Empty if this process may not look.
  std::vector<uint8_t> read(uint64_t address, uint64_t bytes) const {
    std::vector<uint8_t> content(bytes);
    const iovec to{content.data(), bytes};
    const iovec from{reinterpret_cast<void*>(address), bytes};
    if (process_vm_readv(worker_, &to, 1, &from, 1, 0) < 0) content.clear();
    return content;
  }
  // Writes into `content`, that of a block of so many bytes at `address`, from byte `from` on.
  static void touch(std::vector<uint8_t>& content, uint64_t address, uint64_t from) {
    for (uint64_t i = from; i < content.size(); ++i) {
      const bool is_touched = i == from || (address + i) % base::kPageBytes == 0;
      if (GetParam() == Touch::kAll || (GetParam() == Touch::kPage && is_touched)) content[i] = 1;
    }
  }

  std::unique_ptr<NativeBackend> backend_;
  int worker_ = 0;
};

// Blocks of no byte, of one, and of those around whole pages, wherever in a page they begin.
TEST_P(TouchedBytes, AreOneOfEachPageOrAll) {
  std::vector<ReplayOp> ops;
  for (const uint64_t pages : {0u, 1u, 2u, 3u, 40u, 70u}) {
    for (const int64_t more : {-17, -16, -15, -1, 0, 1, 2, 16}) {
      const int64_t size = static_cast<int64_t>(pages * base::kPageBytes) + more;
      if (size < 0) continue;
      const auto slot = static_cast<uint32_t>(ops.size());
      ops.push_back(
          {.kind = ReplayKind::kCalloc, .slot = slot, .size = static_cast<uint64_t>(size)});
    }
  }
  const BatchResult result = run(ops);
  for (size_t i = 0; i < ops.size(); ++i) {
    const uint64_t address = result.placements[i].address;
    std::vector<uint8_t> expected(ops[i].size);
    touch(expected, address, 0);
    if (ops[i].size != 0 && read(address, 1).empty())
      GTEST_SKIP() << "cannot read the worker's memory";
    EXPECT_TRUE(read(address, ops[i].size) == expected) << ops[i].size << " bytes";
  }
}

// Blocks with mappings of their own, where everything that nobody wrote is 0.
TEST_P(TouchedBytes, OfAResizeAreThoseThatItGained) {
  constexpr uint64_t kBefore = 300'001;
  for (const uint64_t size :
       {kBefore + 1, kBefore + 4096, kBefore + 200'000, kBefore, kBefore - 5000}) {
    for (const uint8_t log2 : {growth_log2(kBefore, size), uint8_t{0}, uint8_t{12}, kNoGrowth}) {
      const auto before = run({{.kind = ReplayKind::kCalloc, .size = kBefore}}).placements[0];
      const ReplayOp resize{.kind = ReplayKind::kRealloc, .log2 = log2, .size = size};
      std::vector<uint8_t> expected(kBefore);
      touch(expected, before.address, 0);
      const auto after = run({resize}).placements[0];
      expected.resize(size);
      touch(expected, after.address, first_new_byte(resize));
      const std::vector<uint8_t> content = read(after.address, size);
      if (content.empty()) GTEST_SKIP() << "cannot read the worker's memory";
      EXPECT_TRUE(content == expected)
          << size << " bytes, of which 1 << " << int{log2} << " are new";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, TouchedBytes,
                         testing::Values(Touch::kNone, Touch::kPage, Touch::kAll));

}  // namespace
}  // namespace heaptape::allocators
