// The file of the last calls.
#include "schema/tape/window_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <optional>
#include <thread>

#include "tests/support/limit.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kPieceBytes = 4096;

uint64_t room_of(const Bytes& bytes) {
  return (bytes.size() + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
}

class WindowFileTest : public testing::Test {
 protected:
  Bytes random_bytes(size_t size) {
    Bytes bytes(size);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_.below(256));
    return bytes;
  }
  WindowFile::Frame put(const Bytes& bytes) {
    auto frame = file_->put(bytes);
    EXPECT_TRUE(frame.ok()) << frame.error().message;
    return std::move(*frame);
  }
  static Bytes read(const WindowFile::Frame& frame) {
    Bytes bytes = {1, 2, 3};
    const base::Status status = frame.read(bytes);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return bytes;
  }
  // What the kernel says of the only file of ours that has no name in the directory.
  std::optional<std::string> descriptor() const {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string target = std::filesystem::read_symlink(entry.path(), ignored);
      if (target.starts_with(dir_.file("")) && target.ends_with(" (deleted)")) return entry.path();
    }
    return std::nullopt;
  }
  struct stat kernels_view() const {
    struct stat info{};
    EXPECT_EQ(stat(descriptor().value_or("").c_str(), &info), 0);
    return info;
  }

  tests::TempDir dir_;
  tests::SeededRandom random_;
  std::shared_ptr<WindowFile> file_ = *WindowFile::create(dir_.file("run.tape"));
};

TEST_F(WindowFileTest, HasNoNameAndOneUser) {
  EXPECT_TRUE(std::filesystem::is_empty(dir_.file("")));
  const struct stat info = kernels_view();
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(info.st_nlink, 0u);
}

TEST_F(WindowFileTest, GivesBackWhatWasPut) {
  const Bytes small = random_bytes(1);
  const Bytes large = random_bytes(300'000);
  const WindowFile::Frame first = put(small);
  const WindowFile::Frame second = put(large);
  EXPECT_EQ(read(first), small);
  EXPECT_EQ(read(second), large);
}

// A frame that is larger than each piece of free room lies in several.
TEST_F(WindowFileTest, FillsTheRoomOfFramesThatAreGone) {
  std::vector<std::optional<WindowFile::Frame>> frames;
  for (int i = 0; i < 10; ++i) frames.emplace_back(put(random_bytes(4'000)));
  for (const size_t i : {1, 2, 5, 8}) frames[i].reset();
  const Bytes bytes = random_bytes(14'000);
  const WindowFile::Frame in_parts = put(bytes);
  EXPECT_EQ(file_->bytes(), 10 * kPieceBytes);
  const Bytes more = random_bytes(7'000);
  const WindowFile::Frame over_the_end = put(more);
  EXPECT_EQ(file_->bytes(), 12 * kPieceBytes);
  EXPECT_EQ(read(in_parts), bytes);
  EXPECT_EQ(read(over_the_end), more);
}

TEST_F(WindowFileTest, GetsShorterWhenItsEndIsFree) {
  std::optional<WindowFile::Frame> first = put(random_bytes(1 << 20));
  std::optional<WindowFile::Frame> second = put(random_bytes(1 << 20));
  first.reset();
  EXPECT_EQ(file_->bytes(), 2u << 20);
  second.reset();
  EXPECT_EQ(file_->bytes(), 0u);
  EXPECT_EQ(kernels_view().st_blocks, 0);
}

// Hundreds of times as many bytes as are kept, in frames of any size.
TEST_F(WindowFileTest, IsNeverLargerThanTheFramesInIt) {
  constexpr uint64_t kMost = 1 << 18;
  std::deque<std::pair<Bytes, WindowFile::Frame>> window;
  uint64_t kept = 0;
  uint64_t most = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Bytes bytes = random_bytes(1 + random_.below(20'000));
    while (kept + room_of(bytes) > kMost) {
      kept -= room_of(window.front().first);
      ASSERT_EQ(read(window.front().second), window.front().first) << i;
      window.pop_front();
    }
    window.emplace_back(bytes, put(bytes));
    kept += room_of(bytes);
    most = std::max(most, kept);
    ASSERT_LE(file_->bytes(), most) << i;
  }
  EXPECT_LE(kernels_view().st_blocks * 512, static_cast<long>(most) + 64 * 1024);
}

TEST_F(WindowFileTest, ServesSeveralThreads) {
  const auto serve = [this](uint64_t seed) {
    tests::Random random(seed);
    std::deque<std::pair<Bytes, WindowFile::Frame>> window;
    for (int i = 0; i < 2'000; ++i) {
      const Bytes bytes(1 + random.below(3'000), static_cast<uint8_t>(random.below(256)));
      window.emplace_back(bytes, put(bytes));
      if (window.size() < 20) continue;
      EXPECT_EQ(read(window.front().second), window.front().first);
      window.pop_front();
    }
  };
  std::thread other(serve, 1);
  serve(2);
  other.join();
  EXPECT_EQ(file_->bytes(), 0u);
}

TEST_F(WindowFileTest, KeepsNothingOfAFrameThatFindsNoRoom) {
  signal(SIGXFSZ, SIG_IGN);
  const Bytes small = random_bytes(1'000);
  const WindowFile::Frame frame = put(small);
  {
    const tests::Limit limit(RLIMIT_FSIZE, 4'096);
    const auto refused = file_->put(random_bytes(10'000));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, base::ErrorCode::kNoSpace);
  }
  EXPECT_EQ(file_->bytes(), kPieceBytes);
  EXPECT_FALSE(file_->take_failure().ok());
  EXPECT_TRUE(file_->take_failure().ok()) << "told once";
  EXPECT_EQ(read(frame), small);
  const Bytes large = random_bytes(10'000);
  EXPECT_EQ(read(put(large)), large) << "once there is room again";
}

TEST_F(WindowFileTest, RefusesAFrameThatIsNotAsItWas) {
  const WindowFile::Frame frame = put(random_bytes(5'000));
  const base::Descriptor same(open(descriptor().value_or("").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(pwrite(same.get(), "x", 1, 4'000), 1);
  Bytes bytes;
  const base::Status changed = frame.read(bytes);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, base::ErrorCode::kDamaged);
  ASSERT_EQ(ftruncate(same.get(), 4'000), 0);
  EXPECT_FALSE(frame.read(bytes).ok());
}

TEST(WindowFile, NeedsADirectory) {
  const tests::TempDir dir;
  const auto file = WindowFile::create(dir.file("missing/run.tape"));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("missing'"), std::string::npos) << file.error().message;
}

}  // namespace
}  // namespace heaptape::schema
