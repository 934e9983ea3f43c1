#include "recorder/collector/memory_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "base/output_file.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class MemoryWatchTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = dir_.file(path);
    std::filesystem::create_directories(whole.parent_path());
    ASSERT_TRUE(base::write_file(whole, text).ok());
  }
  void write(const std::string& path, uint64_t number) const {
    write(path, std::to_string(number) + "\n");
  }
  base::Result<MemoryWatch> open(const FlushAt& at) const {
    return MemoryWatch::open(at, dir_.file("groups"), dir_.file("own"));
  }
  // At ever later times, a second apart.
  bool is_reached(MemoryWatch& watch) {
    now_ns_ += 1000 * base::kMillisecondNs;
    return watch.is_reached({static_cast<uint32_t>(getpid())}, now_ns_);
  }

  tests::TempDir dir_;
  uint64_t now_ns_ = 0;
};

TEST_F(MemoryWatchTest, KnowsGroupsOfVersion2) {
  write("own", "0::/a/b\n");
  write("groups/a/memory.max", 100 * kMiB);
  write("groups/a/memory.current", 89 * kMiB);
  write("groups/a/b/memory.max", "max\n");
  write("groups/a/b/memory.current", 80 * kMiB);
  auto watch = open({.share = 0.9});
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  EXPECT_FALSE(is_reached(*watch));
  write("groups/a/memory.current", 91 * kMiB);
  EXPECT_TRUE(is_reached(*watch));
  EXPECT_FALSE(is_reached(*watch)) << "only once";
}

TEST_F(MemoryWatchTest, KnowsGroupsOfVersion1) {
  write("own", "5:cpu,memory:/c\n1:name=systemd:/x\n");
  write("groups/memory/c/memory.limit_in_bytes", 100 * kMiB);
  write("groups/memory/c/memory.usage_in_bytes", 95 * kMiB);
  write("groups/memory/memory.limit_in_bytes", 9223372036854771712u);
  auto watch = open({.share = 0.9});
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  EXPECT_TRUE(is_reached(*watch));
}

// A container's own group may be mounted as the root.
TEST_F(MemoryWatchTest, KnowsTheGroupAtTheRoot) {
  write("own", "0::/not/visible/here\n");
  write("groups/memory.max", 100 * kMiB);
  write("groups/memory.current", 95 * kMiB);
  auto watch = open({.share = 0.9});
  ASSERT_TRUE(watch.ok()) << watch.error().message;
  EXPECT_TRUE(is_reached(*watch));
}

// The kernel takes them back before it ends a process.
TEST_F(MemoryWatchTest, LeavesOutThePagesOfFiles) {
  write("own", "0::/\n");
  write("groups/memory.max", 100 * kMiB);
  write("groups/memory.current", 95 * kMiB);
  write("groups/memory.stat",
        "anon 1\ninactive_file " + std::to_string(30 * kMiB) + "\nactive_file 3\n");
  auto watch = open({.share = 0.9});
  ASSERT_TRUE(watch.ok());
  EXPECT_FALSE(is_reached(*watch));
  write("groups/memory.stat", "inactive_file 1\n");
  EXPECT_TRUE(is_reached(*watch));
}

TEST_F(MemoryWatchTest, ComesAgainAfterMemoryWasFree) {
  write("own", "0::/\n");
  write("groups/memory.max", 100 * kMiB);
  write("groups/memory.current", 95 * kMiB);
  auto watch = open({.share = 0.9});
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(is_reached(*watch));
  write("groups/memory.current", 85 * kMiB);
  EXPECT_FALSE(is_reached(*watch));
  write("groups/memory.current", 95 * kMiB);
  EXPECT_FALSE(is_reached(*watch)) << "a tenth must have been free";
  write("groups/memory.current", 80 * kMiB);
  EXPECT_FALSE(is_reached(*watch));
  write("groups/memory.current", 95 * kMiB);
  EXPECT_TRUE(is_reached(*watch));
  write("groups/memory.current", 80 * kMiB);
  EXPECT_FALSE(is_reached(*watch));
  write("groups/memory.current", 95 * kMiB);
  EXPECT_FALSE(is_reached(*watch)) << "the second pause is longer";
}

TEST_F(MemoryWatchTest, IsNotPossibleWithoutALimit) {
  write("own", "0::/a\n");
  write("groups/a/memory.max", "max\n");
  const auto watch = open({.share = 0.9});
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.error().code, base::ErrorCode::kUsage);
  EXPECT_NE(watch.error().message.find("has a memory limit"), std::string::npos);
}

TEST_F(MemoryWatchTest, CountsWhatIsResident) {
  auto watch = open({.bytes = 1});
  ASSERT_TRUE(watch.ok());
  EXPECT_TRUE(is_reached(*watch));
  auto large = open({.bytes = uint64_t{1} << 60});
  EXPECT_FALSE(is_reached(*large));
}

// Only the look itself counts: the collector may have had other work since it read the clock.
TEST_F(MemoryWatchTest, LooksSoonAgainIfItWasAskedLate) {
  auto watch = open({.bytes = 1});
  constexpr uint64_t kLateNs = 60'000 * base::kMillisecondNs;
  const uint64_t now_ns = base::monotonic_ns() + kLateNs;
  watch->is_reached({}, now_ns - 2 * kLateNs);
  EXPECT_LT(watch->next_ns(), now_ns);
}

}  // namespace
}  // namespace heaptape::recorder
