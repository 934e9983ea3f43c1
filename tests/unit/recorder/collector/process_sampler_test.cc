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
  explicit OwnMapping(int kind = MAP_PRIVATE, uint64_t at = 0)
      : base_(mmap(reinterpret_cast<void*>(at), kBytes, PROT_READ | PROT_WRITE,
                   kind | MAP_ANONYMOUS, -1, 0)) {
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
                                                    const OwnMappings* own_mappings = nullptr) {
  const auto texts = read_proc_texts(pid, nullptr, WithPages::kYes);
  return texts ? std::optional(make_sample(*texts, live, own_mappings)) : std::nullopt;
}

bool covers(const schema::ProcessSample& sample, uint64_t address) {
  for (const AddressRange& region : sample.regions) {
    if (region.begin <= address && address < region.end) return true;
  }
  return false;
}

TEST(ProcessSampler, SeesResidentMemory) {
  const OwnMapping mapping;
  const auto sample = sample_process(own_pid(), LiveSet());
  ASSERT_TRUE(sample);
  EXPECT_GE(sample->resident_bytes, OwnMapping::kBytes);
  EXPECT_EQ(sample->resident_bytes % static_cast<uint64_t>(getpagesize()), 0u);
  EXPECT_GE(sample->parts.peak_bytes, sample->resident_bytes + sample->parts.file_bytes);
  EXPECT_GT(sample->parts.file_bytes, 0u);
}

TEST(ProcessSampler, TellsMallocsPartFromTheRest) {
  // Far apart, because the kernel joins neighbours that are alike, and above the shadow of
  // AddressSanitizer.
  const OwnMapping of_malloc(MAP_PRIVATE, 0x200000000000);
  const OwnMapping of_others(MAP_PRIVATE, 0x210000000000);
  LiveSet live;
  EXPECT_EQ(sample_process(own_pid(), live)->parts.malloc_bytes, 0u);
  live.insert(of_malloc.begin() + 4096);
  const auto sample = sample_process(own_pid(), live);
  EXPECT_EQ(sample->parts.malloc_bytes, OwnMapping::kBytes);
  EXPECT_GE(sample->resident_bytes, 2 * OwnMapping::kBytes);
}

// What the program has not touched, or has given back, is not resident.
TEST(ProcessSampler, CountsResidentPagesOfMallocOnly) {
  const OwnMapping mapping;
  LiveSet live;
  live.insert(mapping.begin() + 4096);
  const uint64_t before = *sample_process(own_pid(), live)->parts.malloc_bytes;
  ASSERT_EQ(madvise(reinterpret_cast<void*>(mapping.begin() + 8192), OwnMapping::kBytes - 8192,
                    MADV_DONTNEED),
            0);
  const uint64_t after = *sample_process(own_pid(), live)->parts.malloc_bytes;
  EXPECT_EQ(before - after, OwnMapping::kBytes - 8192);
}

TEST(ProcessSampler, CountsPagesOfGlibcsOwnMappingsOnceEach) {
  const OwnMapping mapping;
  LiveSet live;
  OwnMappings own_mappings;
  EXPECT_EQ(sample_process(own_pid(), live, &own_mappings)->parts.malloc_bytes, 0u);
  constexpr uint64_t kSize = 1 << 20;
  live.insert(mapping.begin() + 16);
  own_mappings.insert(mapping.begin() + 16, kSize);
  EXPECT_EQ(sample_process(own_pid(), live, &own_mappings)->parts.malloc_bytes, kSize + 4096);
  live.insert(mapping.begin() + 32);  // an arena's: the whole mapping is malloc's
  const uint64_t in_arena = *sample_process(own_pid(), live, &own_mappings)->parts.malloc_bytes;
  live.erase(mapping.begin() + 32);
  own_mappings.erase(mapping.begin() + 16);
  EXPECT_EQ(sample_process(own_pid(), live, &own_mappings)->parts.malloc_bytes, 0u);
  live.insert(mapping.begin() + 32);
  EXPECT_EQ(sample_process(own_pid(), live, &own_mappings)->parts.malloc_bytes, in_arena);
}

// Small ones never have one; and no range leaves the address space, whatever a program claims.
TEST(OwnMappings, AreOfLargeBlocksSixteenBytesIntoAPage) {
  OwnMappings own_mappings;
  own_mappings.insert(0x7f0000000010, 4095);
  own_mappings.insert(0x7f0000001020, 1 << 20);
  own_mappings.insert(0x7f0000002010, UINT64_MAX);
  own_mappings.insert(0x7f0000003010, 4096);
  own_mappings.insert(0x7f0000008010, 4096);
  own_mappings.insert(0x7f0000008010, 100);  // its free was lost
  std::vector<AddressRange> ranges;
  own_mappings.for_each([&ranges](AddressRange range) { ranges.push_back(range); });
  EXPECT_EQ(ranges, (std::vector<AddressRange>{{0x7f0000003000, 0x7f0000005000}}));
}

// As many as no program has: a hostile one says so.
TEST(ProcessSampler, KnowsNoPartsWithSixtyFiveThousandMappings) {
  OwnMappings own_mappings;
  for (uint64_t i = 0; i <= 1 << 16; ++i) own_mappings.insert((i << 20) + 16, 4096);
  EXPECT_FALSE(sample_process(own_pid(), LiveSet(), &own_mappings)->parts.malloc_bytes);
}

TEST(ProcessSampler, KnowsNoPartsWithoutPages) {
  auto texts = read_proc_texts(own_pid(), nullptr, WithPages::kNo);
  ASSERT_TRUE(texts);
  const auto sample = make_sample(*texts, LiveSet(), nullptr);
  EXPECT_GT(sample.resident_bytes, 0u);
  EXPECT_FALSE(sample.parts.malloc_bytes);
}

TEST(ProcessSampler, AddsUpLinesOfTheStatus) {
  const ProcTexts texts{
      "Name:\tVmSwap:\nVmHWM:\t   900 kB\nVmRSS:\t   700 kB\nRssAnon:\t     400 kB\n"
      "RssFile:\t     200 kB\nRssShmem:\t   100 kB\nVmSwap:\t      50 kB\n",
      ""};
  const auto sample = make_sample(texts, LiveSet(), nullptr);
  EXPECT_EQ(sample.resident_bytes, uint64_t{450} << 10);
  EXPECT_EQ(sample.parts, (schema::ProcessParts{{}, 200 << 10, 100 << 10, 900 << 10}));
}

TEST(ProcessSampler, LeavesSharedPagesOutOfResidentMemory) {
  const uint64_t before = sample_process(own_pid(), LiveSet())->resident_bytes;
  const OwnMapping mapping(MAP_SHARED);
  const uint64_t after = sample_process(own_pid(), LiveSet())->resident_bytes;
  EXPECT_LT(after, before + OwnMapping::kBytes / 2);
}

TEST(ProcessSampler, SeesTheMappingsThatHoldALiveBlock) {
  const OwnMapping mapping;
  LiveSet live;
  EXPECT_TRUE(sample_process(own_pid(), live)->regions.empty());
  live.insert(mapping.begin() + 4096);
  const auto sample = sample_process(own_pid(), live);
  ASSERT_EQ(sample->regions.size(), 1u);
  EXPECT_TRUE(covers(*sample, mapping.begin() + 4096));
  EXPECT_FALSE(covers(*sample, reinterpret_cast<uint64_t>(&live)));  // our stack
}

TEST(ProcessSampler, LeavesOutMappingsThatGlibcMadeForOneBlock) {
  const OwnMapping mapping;
  LiveSet live;
  live.insert(mapping.begin() + 16);
  const OwnMappings none;
  EXPECT_TRUE(sample_process(own_pid(), live, &none)->regions.empty());
  EXPECT_FALSE(sample_process(own_pid(), live)->regions.empty());
}

TEST(ProcessSampler, HasNothingToSayOfAProcessThatIsNotThere) {
  EXPECT_FALSE(sample_process(0x7fffffff, LiveSet()));
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
