#include "recorder/collector/process_sampler.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

namespace heaptape::recorder {
namespace {

using base::AddressRange;

// Memory of our own whose pages are resident.
class OwnMapping {
 public:
  static constexpr size_t kBytes = 32 << 20;
  explicit OwnMapping(int kind = MAP_PRIVATE)
      : base_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0)) {
    std::memset(base_, 1, kBytes);
  }
  ~OwnMapping() { munmap(base_, kBytes); }
  uint64_t begin() const { return reinterpret_cast<uint64_t>(base_); }

 private:
  void* base_;
};

uint32_t own_pid() {
  return static_cast<uint32_t>(getpid());
}

// Nothing for a process that is not there.
std::optional<schema::ProcessSample> sample_process(uint32_t pid, const LiveSet& live,
                                                    MappedChunks mapped_chunks) {
  const auto texts = read_proc_texts(pid, nullptr);
  return texts ? std::optional(make_sample(*texts, live, mapped_chunks)) : std::nullopt;
}

bool covers(const schema::ProcessSample& sample, uint64_t address) {
  for (const AddressRange& region : sample.regions) {
    if (region.begin <= address && address < region.end) return true;
  }
  return false;
}

TEST(ProcessSampler, SeesResidentMemory) {
  const OwnMapping mapping;
  const auto sample = sample_process(own_pid(), LiveSet(), MappedChunks::kCount);
  ASSERT_TRUE(sample);
  EXPECT_GE(sample->resident_bytes, OwnMapping::kBytes);
  EXPECT_EQ(sample->resident_bytes % static_cast<uint64_t>(getpagesize()), 0u);
}

TEST(ProcessSampler, LeavesSharedPagesOutOfResidentMemory) {
  const uint64_t before =
      sample_process(own_pid(), LiveSet(), MappedChunks::kCount)->resident_bytes;
  const OwnMapping mapping(MAP_SHARED);
  const uint64_t after = sample_process(own_pid(), LiveSet(), MappedChunks::kCount)->resident_bytes;
  EXPECT_LT(after, before + OwnMapping::kBytes / 2);
}

TEST(ProcessSampler, SeesTheMappingsThatHoldALiveBlock) {
  const OwnMapping mapping;
  LiveSet live;
  EXPECT_TRUE(sample_process(own_pid(), live, MappedChunks::kCount)->regions.empty());
  live.insert(mapping.begin() + 4096);
  const auto sample = sample_process(own_pid(), live, MappedChunks::kCount);
  ASSERT_EQ(sample->regions.size(), 1u);
  EXPECT_TRUE(covers(*sample, mapping.begin() + 4096));
  EXPECT_FALSE(covers(*sample, reinterpret_cast<uint64_t>(&live)));  // our stack
}

TEST(ProcessSampler, LeavesOutMappingsThatGlibcMadeForOneBlock) {
  const OwnMapping mapping;
  LiveSet live;
  live.insert(mapping.begin() + 16);
  EXPECT_TRUE(sample_process(own_pid(), live, MappedChunks::kSkip)->regions.empty());
  EXPECT_FALSE(sample_process(own_pid(), live, MappedChunks::kCount)->regions.empty());
}

TEST(ProcessSampler, HasNothingToSayOfAProcessThatIsNotThere) {
  EXPECT_FALSE(sample_process(0x7fffffff, LiveSet(), MappedChunks::kCount));
}

TEST(ProcessSampler, TakesWritableAnonymousMappingsOnly) {
  const auto ranges = parse_writable_anonymous(
      "555500000000-555500001000 r-xp 00000000 08:01 1234       /usr/bin/program\n"
      "555500002000-555500003000 rw-p 00002000 08:01 1234       /usr/bin/program\n"
      "555500100000-555500200000 rw-p 00000000 00:00 0          [heap]\n"
      "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"
      "7f0000010000-7f0000020000 ---p 00000000 00:00 0 \n"
      "7f0000020000-7f0000030000 rw-p 00000000 00:00 0          [anon:arena]\n"
      "7f0000030000-7f0000040000 rw-s 00000000 00:01 99         /memfd:x (deleted)\n"
      "7ffffff00000-7ffffff20000 rw-p 00000000 00:00 0          [stack]\n");
  EXPECT_EQ(ranges, (std::vector<AddressRange>{{0x555500100000, 0x555500200000},
                                               {0x7f0000000000, 0x7f0000010000},
                                               {0x7f0000020000, 0x7f0000030000}}));
}

TEST(ProcessSampler, TakesNothingFromLinesThatMakeNoSense) {
  for (const char* text : {"", "\n\n", "hello", "1000", "1000-", "2000-1000 rw-p 0 00:00 0",
                           "1000-2000", "1000-2000 rw-p", "zzzz-2000 rw-p 0 00:00 1"}) {
    EXPECT_TRUE(parse_writable_anonymous(text).empty()) << text;
  }
}

TEST(ProcessSampler, KnowsWhoAProcessIs) {
  const ProcessIdentity identity = identify_process(own_pid(), nullptr);
  EXPECT_EQ(identity.pid, own_pid());
  EXPECT_EQ(identity.parent_pid, static_cast<uint32_t>(getppid()));
  EXPECT_TRUE(identity.executable.ends_with("/recorder_tests")) << identity.executable;
  ASSERT_FALSE(identity.command_line.empty());
  EXPECT_NE(identity.command_line[0].find("recorder_tests"), std::string::npos);
}

TEST(ProcessSampler, KnowsNobodyByAPidThatIsNotThere) {
  const ProcessIdentity identity = identify_process(0x7fffffff, nullptr);
  EXPECT_EQ(identity.executable, "");
  EXPECT_TRUE(identity.command_line.empty());
  EXPECT_EQ(identity.parent_pid, 0u);
}

}  // namespace
}  // namespace heaptape::recorder
