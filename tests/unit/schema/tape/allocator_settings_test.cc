#include "schema/tape/allocator_settings.h"

#include <gtest/gtest.h>

namespace heaptape::schema {
namespace {

using Settings = std::vector<std::string>;

// Entries with a 0 behind each, as /proc/PID/environ has them.
std::string joined(const Settings& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + '\0';
  return text;
}

TEST(AllocatorSettings, AreWhatTellsAllocatorsHowToUseMemory) {
  EXPECT_EQ(allocator_settings(joined({"PATH=/bin", "MALLOC_ARENA_MAX=1", "HOME=/root",
                                       "MALLOC_CONF=narenas:2", "MIMALLOC_PURGE_DELAY=0",
                                       "TCMALLOC_RELEASE_RATE=5", "LD_PRELOAD=libx.so"})),
            (Settings{"MALLOC_ARENA_MAX=1", "MALLOC_CONF=narenas:2", "MIMALLOC_PURGE_DELAY=0",
                      "TCMALLOC_RELEASE_RATE=5"}));
}

TEST(AllocatorSettings, ExcludeNamesOfFilesAndOutput) {
  EXPECT_EQ(allocator_settings(joined(
                {"MALLOC_CONF=prof:true,dirty_decay_ms:0,prof_prefix:/home/me/x,stats_print:true",
                 "GLIBC_TUNABLES=glibc.malloc.check=3:glibc.malloc.arena_max=2:glibc.cpu.hwcaps=x",
                 "MIMALLOC_SHOW_STATS=1", "TCMALLOC_MEMFS_MALLOC_PATH=/mnt", "MALLOC_CHECK_=3",
                 "MIMALLOC_RESERVE_HUGE_OS_PAGES=1000"})),
            (Settings{"MALLOC_CONF=dirty_decay_ms:0", "GLIBC_TUNABLES=glibc.malloc.arena_max=2"}));
}

TEST(AllocatorSettings, AreTheFirstOfEachName) {
  EXPECT_EQ(allocator_settings(joined({"MALLOC_TOP_PAD_=1", "MALLOC_TOP_PAD_=2"})),
            (Settings{"MALLOC_TOP_PAD_=1"}));
}

TEST(AllocatorSettings, EndWhereTheTextDoes) {
  EXPECT_EQ(allocator_settings("MALLOC_ARENA_MAX=1"), (Settings{"MALLOC_ARENA_MAX=1"}));
  EXPECT_EQ(allocator_settings(""), Settings());
  EXPECT_EQ(allocator_settings(joined({"MALLOC_ARENA_MAX", "=", ""})), Settings());
}

TEST(AllocatorSettings, ApplyToTheirFamilyOnly) {
  EXPECT_EQ(setting_for("glibc", "MALLOC_ARENA_MAX=1"), "MALLOC_ARENA_MAX=1");
  EXPECT_EQ(setting_for("jemalloc", "MALLOC_ARENA_MAX=1"), "");
  EXPECT_EQ(setting_for("jemalloc", "MALLOC_CONF=junk:true"), "");
  EXPECT_EQ(setting_for("glibc", "LD_PRELOAD=/tmp/evil.so"), "");
}

TEST(AllocatorSettings, OfAHostileTapeAreLeftOut) {
  EXPECT_EQ(setting_for("glibc", "MALLOC_ARENA_MAX=1\nLD_PRELOAD=x"), "");
  EXPECT_EQ(setting_for("glibc", "MALLOC_ARENA_MAX=" + std::string(5000, '1')), "");
  EXPECT_EQ(setting_for("glibc", "MALLOC_ARENA_MAX"), "");
}

}  // namespace
}  // namespace heaptape::schema
