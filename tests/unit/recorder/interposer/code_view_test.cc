// The file of unwind tables as a recorded process sees it. Who wrote it is not known.
#include "recorder/interposer/code_view.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/descriptor.h"
#include "recorder/interposer/attach.h"
#include "tests/support/live_session.h"
#include "tests/support/sizes.h"

namespace heaptape::recorder {
namespace {

using tests::kMiB;

class CodeViewTest : public testing::Test {
 protected:
  CodeViewTest() : file_(memfd_create("code", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_.get(), 64 * kMiB), 0);
    map_code_file(file_.get());
  }
  // A map of no ranges unless its head says otherwise.
  void write(uint64_t offset, const CodeMap& map) const {
    ASSERT_EQ(pwrite(file_.get(), &map, sizeof map, static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof map));
  }
  void write_word(uint64_t offset, uint64_t word) const {
    ASSERT_EQ(pwrite(file_.get(), &word, sizeof word, static_cast<off_t>(offset)),
              static_cast<ssize_t>(sizeof word));
  }
  static uint64_t word_at(const CodeView& view, uint64_t offset) {
    return *reinterpret_cast<const uint64_t*>(view.file + offset);
  }

  const base::Descriptor file_;
};

TEST_F(CodeViewTest, ReachesAllThatAMapNeeds) {
  for (const uint64_t end : {kMiB, 5 * kMiB, 20 * kMiB, 63 * kMiB}) {
    write(end / 2, {kCodeMapMagic, end, 0, 0});
    write_word(end - 8, end);
    const CodeView view = view_code(end / 2);
    ASSERT_NE(view.map, nullptr) << end;
    EXPECT_EQ(word_at(view, end - 8), end);
  }
}

// Other threads may still read there.
TEST_F(CodeViewTest, KeepsWhatWasMappedBefore) {
  write(4096, {kCodeMapMagic, 8192, 0, 0});
  const CodeView before = view_code(4096);
  write(40 * kMiB, {kCodeMapMagic, 41 * kMiB, 0, 0});
  ASSERT_NE(view_code(40 * kMiB).map, nullptr);
  EXPECT_EQ(before.map->magic, kCodeMapMagic);
}

TEST_F(CodeViewTest, TakesNoMapThatMakesNoSense) {
  const auto is_taken = [this](uint64_t offset, const CodeMap& map) {
    write(offset, map);
    return view_code(offset).map != nullptr;
  };
  EXPECT_TRUE(is_taken(64, {kCodeMapMagic, 4096, 1, 0}));
  EXPECT_FALSE(is_taken(64, {kCodeMapMagic + 1, 4096, 1, 0}));
  EXPECT_FALSE(is_taken(64, {kCodeMapMagic, 90, 0, 0}));   // it does not hold itself
  EXPECT_FALSE(is_taken(64, {kCodeMapMagic, 128, 2, 0}));  // nor its ranges
  EXPECT_FALSE(is_taken(64, {kCodeMapMagic, 4096, UINT64_MAX, 0}));
  EXPECT_FALSE(is_taken(64, {kCodeMapMagic, 65 * kMiB, 0, 0}));  // beyond the file
  EXPECT_FALSE(is_taken(68, {kCodeMapMagic, 4096, 0, 0}));       // not aligned
  EXPECT_EQ(view_code(0).map, nullptr);
  EXPECT_EQ(view_code(64 * kMiB).map, nullptr);
  EXPECT_EQ(view_code(UINT64_MAX - 7).map, nullptr);
}

TEST_F(CodeViewTest, MapsNothingWhereNoSystemCallIsAllowed) {
  write(50 * kMiB, {kCodeMapMagic, 51 * kMiB, 0, 0});
  ++process.quiet;
  EXPECT_EQ(view_code(50 * kMiB).map, nullptr);
  --process.quiet;
  EXPECT_NE(view_code(50 * kMiB).map, nullptr);
}

// As by a dlclose while the collector reads what the process has mapped: that is then out of date,
// though the map was the first one before, too.
TEST(LateCode, IsForgottenUntilTheNextReading) {
  const tests::LiveSession session;
  ProcessSlot& slot = session.view().process(0);
  process.first_code_map = 4096;
  for (const uint64_t offset : {4096, 8192}) {
    slot.code_map = with_map(slot.code_map, offset);
    const uint32_t wanted = slot.code_wanted;
    uint64_t when_asked = slot.code_map;
    forget_late_code();
    EXPECT_EQ(map_offset_of(slot.code_map), 4096u);
    EXPECT_EQ(slot.code_wanted, wanted + 1);
    EXPECT_FALSE(slot.code_map.compare_exchange_strong(when_asked, with_map(when_asked, 8192)));
  }
  process.first_code_map = 0;
}

// Which has no slot of its own yet.
TEST(LateCode, IsForgottenByAForkedChild) {
  const tests::LiveSession session;
  process.first_code_map = 4096;
  process.code_map = 8192;
  const pid_t child = fork();
  if (child == 0) {
    forget_late_code();
    _exit(process.code_map == 4096 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  process.first_code_map = 0;
  process.code_map = 0;
}

}  // namespace
}  // namespace heaptape::recorder
