#include "recorder/collector/process_sampler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/support/seeded_random.h"

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

// It would be a sample without parts, and perhaps the largest.
TEST(ProcessSampler, TakesNoSampleOfAProcessThatEndsMeanwhile) {
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(static_cast<useconds_t>(20 * i));
      _exit(0);
    }
    while (const auto texts =
               read_proc_texts(static_cast<uint32_t>(child), nullptr, WithPages::kYes)) {
      EXPECT_TRUE(texts->resident || texts->has_ended);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
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

TEST(ProcessSampler, CountsPagesWhereTheParentHadMallocsMemory) {
  const OwnMapping mapping(MAP_PRIVATE, 0x200000000000);
  const auto texts = read_proc_texts(own_pid(), nullptr, WithPages::kYes);
  ASSERT_TRUE(texts);
  const auto malloc_bytes = [&](const std::vector<AddressRange>& inherited) {
    return *make_sample(*texts, LiveSet(), nullptr, {}, {}, {}, inherited).parts.malloc_bytes;
  };
  const uint64_t begin = mapping.begin();
  const uint64_t end = begin + OwnMapping::kBytes;
  EXPECT_EQ(malloc_bytes({}), 0u);
  EXPECT_EQ(malloc_bytes({{begin, end}}), OwnMapping::kBytes);
  EXPECT_EQ(malloc_bytes({{0x1000, 0x2000}, {end - 4096, end + 4096}}), OwnMapping::kBytes);
  EXPECT_EQ(malloc_bytes({{begin - 4096, begin}, {end, end + 4096}}), 0u);
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
      "RssFile:\t     200 kB\nRssShmem:\t   100 kB\nVmSwap:\t      50 kB\n"
      "HugetlbPages:\t    2048 kB\n",
      ""};
  const auto sample = make_sample(texts, LiveSet(), nullptr);
  EXPECT_EQ(sample.resident_bytes, uint64_t{450} << 10);
  EXPECT_EQ(sample.parts, (schema::ProcessParts{{}, 200 << 10, 100 << 10, 900 << 10, {}, 2 << 20}));
}

constexpr uint64_t kHeap = uint64_t{64} << 20;  // HEAP_MAX_SIZE of glibc

// The regions of a process of one mapping, with blocks at these addresses.
std::vector<AddressRange> regions_of(AddressRange mapping, const std::vector<uint64_t>& blocks,
                                     AddressRange break_heap = {}, bool is_glibc = true) {
  ProcTexts texts{"\nRssAnon:\t400 kB\n", ""};
  texts.anonymous = {mapping};
  texts.break_heap = break_heap;
  LiveSet live;
  for (const uint64_t block : blocks) live.insert(block);
  const OwnMappings own_mappings;
  return make_sample(texts, live, is_glibc ? &own_mappings : nullptr).regions;
}

TEST(ProcessSampler, CutsOffWhatIsMergedWithHeapsOfArenas) {
  using Regions = std::vector<AddressRange>;
  const AddressRange mapping{9 * kHeap - 4096, 12 * kHeap + 4096};
  EXPECT_EQ(regions_of(mapping, {10 * kHeap + 8}), Regions({{10 * kHeap, 11 * kHeap}}));
  EXPECT_EQ(regions_of(mapping, {10 * kHeap}), Regions({{10 * kHeap, 11 * kHeap}}));
  EXPECT_EQ(regions_of(mapping, {11 * kHeap - 8}), Regions({{10 * kHeap, 11 * kHeap}}));
  // What lies between two heaps may be a third one.
  EXPECT_EQ(regions_of(mapping, {9 * kHeap + 64, 11 * kHeap + 64}),
            Regions({{9 * kHeap, 12 * kHeap}}));
  EXPECT_EQ(regions_of(mapping, {9 * kHeap - 8, 12 * kHeap}), Regions({mapping}));
  // A block in a mapping of its own is in no heap.
  EXPECT_EQ(regions_of(mapping, {9 * kHeap + 16, 10 * kHeap + 64}),
            Regions({{10 * kHeap, 11 * kHeap}}));
  EXPECT_EQ(regions_of({kHeap, 2 * kHeap}, {kHeap + 64}), Regions({{kHeap, 2 * kHeap}}));
}

TEST(ProcessSampler, KeepsMappingsWholeThatHoldNoSuchHeaps) {
  const AddressRange mapping{9 * kHeap - 4096, 12 * kHeap + 4096};
  const std::vector<AddressRange> whole{mapping};
  EXPECT_EQ(regions_of(mapping, {10 * kHeap + 64}, mapping), whole);
  EXPECT_EQ(regions_of(mapping, {10 * kHeap + 64}, {}, false), whole);
}

TEST(ProcessSampler, FindsTheHeapBelowTheBreakInTheText) {
  const std::string code = "00400000-00401000 r-xp 00000000 fe:00 7 /tmp/[heap]\n";
  const std::string heap = "01000000-01021000 rw-p 00000000 00:00 0 [heap]\n";
  const std::string locked = "01021000-01022000 r--p 00000000 00:00 0 [heap]\n";
  const std::string other = "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
  EXPECT_EQ(parse_break_heap(code + heap + other), AddressRange({0x1000000, 0x1021000}));
  EXPECT_EQ(parse_break_heap(code + heap + locked + other), AddressRange({0x1000000, 0x1022000}));
  EXPECT_EQ(parse_break_heap(code + other), AddressRange());
  EXPECT_EQ(parse_break_heap("[heap]\n"), AddressRange());
  EXPECT_EQ(parse_break_heap(""), AddressRange());
}

// A stack: two pages and a control block, in a mapping that goes on; and what the first thread has.
ProcTexts texts_with_stacks() {
  constexpr uint64_t kPage = 4096;
  ProcTexts texts{"\nRssAnon:\t400 kB\n", ""};
  texts.anonymous = {{0x10000, 0x18000}, {0x20000, 0x2a000}};
  texts.first_stack = {0x80000, 0x90000};
  texts.resident = {{{0x10000, 0x10000 + kPage}, {0x20000, 0x2a000}, {0x8f000, 0x90000}}};
  return texts;
}

uint64_t stack_bytes(const ProcTexts& texts, const LiveSet& live,
                     const std::vector<uint64_t>& thread_blocks) {
  return make_sample(texts, live, nullptr, thread_blocks).parts.stack_bytes.value();
}

TEST(ProcessSampler, CountsResidentPagesOfStacks) {
  const ProcTexts texts = texts_with_stacks();
  const LiveSet nothing{};
  constexpr uint64_t kPage = 4096;
  EXPECT_EQ(stack_bytes(texts, nothing, {}), kPage);
  EXPECT_EQ(stack_bytes(texts, nothing, {0x22fc0}), 5 * kPage);
  EXPECT_EQ(stack_bytes(texts, nothing, {0x23000}), 5 * kPage);  // at the beginning of a page
  EXPECT_EQ(stack_bytes(texts, nothing, {0x23001}), 6 * kPage);
  EXPECT_EQ(stack_bytes(texts, nothing, {0x22fc0, 0x22fc0, 0x10000}), 6 * kPage);
  EXPECT_EQ(stack_bytes(texts, nothing, {0x29fc0}), 11 * kPage);  // at the end of the mapping
}

// A program with a heap, named memory, a library's variables and their zeros, and a stack.
constexpr char kPrivateText[] =
    "00400000-00401000 r-xp 00000000 fe:00 7 /bin/program\n"
    "00401000-00402000 rw-p 00001000 fe:00 7 /bin/program\n"
    "00402000-00404000 rw-p 00000000 00:00 0 \n"
    "00404000-00406000 r-xp 00000000 00:00 0 \n"
    "00500000-00600000 rw-p 00000000 00:00 0 [heap]\n"
    "10000000-10010000 ---p 00000000 00:00 0 \n"
    "10010000-10020000 rw-p 00000000 00:00 0 \n"
    "20000000-20010000 rw-p 00000000 00:00 0 [anon:a b]\n"
    "20010000-20020000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n"
    "20020000-20021000 r--p 00000000 fe:00 8 /lib/libz.so.1\n"
    "20021000-20022000 rw-p 00001000 fe:00 8 /lib/libz.so.1\n"
    "20030000-20031000 r-xp 00000000 fe:00 8 /lib/libz.so.1\n"
    "20031000-20032000 r--p 00002000 fe:00 8 /lib/libz.so.1\n"
    "20032000-20033000 rw-p 00000000 00:00 0 \n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n"
    "7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0 [vdso]\n";

TEST(ProcessSampler, FindsPrivateMemoryInTheText) {
  const std::vector<PrivateMapping> expected = {
      {{0x401000, 0x402000}, "data", false, true},
      {{0x402000, 0x404000}, "data", false},
      {{0x404000, 0x406000}, "", false},
      {{0x500000, 0x600000}, "heap", false},
      {{0x10010000, 0x10020000}, "", false},
      {{0x20000000, 0x20010000}, "a_b", true},
      {{0x20020000, 0x20021000}, "data", false, true},  // before variables
      {{0x20021000, 0x20022000}, "data", false, true},
      {{0x20032000, 0x20033000}, "", false},  // behind what cannot be written
      {{0x7ffc00000000, 0x7ffc00021000}, "", false}};
  EXPECT_EQ(parse_private(kPrivateText), expected);
  EXPECT_EQ(parse_private("x\n"), std::vector<PrivateMapping>());
  const auto count = [](const std::string& constants, const std::string& inode) {
    return parse_private(constants + " r--p 00000000 fe:00 8 /data\n" +
                         "21020000-21021000 rw-p 00000000 fe:00 " + inode + " /data\n")
        .size();
  };
  EXPECT_EQ(count("20020000-21020000", "8"), 2u);
  EXPECT_EQ(count("2001f000-21020000", "8"), 1u);
  EXPECT_EQ(count("20020000-21020000", "9"), 1u);
  EXPECT_EQ(count("20020000-2101f000", "8"), 1u);
  EXPECT_EQ(parse_private("20020000-21021000 rw-p 00000000 fe:00 8 /data\n").size(), 1u);
  EXPECT_EQ(
      parse_private("20000000-20200000 rw-p 00000000 00:0f 9 /anon_hugepage (deleted)\n").size(),
      0u);
}

TEST(ProcessSampler, KnowsHeapsOfArenasByTheirPlace) {
  const auto owner = [](const std::string& begin, const std::string& end,
                        const std::string& end_of_rest) {
    const std::string maps = begin + "-" + end + " rw-p 00000000 00:00 0 \n" + end + "-" +
                             end_of_rest + " ---p 00000000 00:00 0 \n";
    return parse_private(maps).at(0).owner;
  };
  EXPECT_EQ(owner("7f0000000000", "7f0000021000", "7f0004000000"), "libc");
  EXPECT_EQ(owner("7f0000000000", "7f0000021000", "7f0008000000"), "");
  EXPECT_EQ(owner("7f0000000000", "7f0000021000", "7f0003fff000"), "");
  EXPECT_EQ(owner("7f0001000000", "7f0001021000", "7f0005000000"), "");
}

TEST(ProcessSampler, FindsGlibcsHeapsWithoutABlock) {
  ProcTexts texts;
  texts.maps =
      "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
      "7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n"
      "7f0004000000-7f0004021000 rw-p 00000000 00:00 0 \n"
      "7f0010000000-7f0010021000 rw-p 00000000 00:00 0          [anon:own]\n"
      "7f0010021000-7f0014000000 ---p 00000000 00:00 0 \n"
      "7f0020000000-7f0024021000 rw-p 00000000 00:00 0 \n"
      "7f0024021000-7f0028000000 ---p 00000000 00:00 0 \n";
  texts.break_heap = {0x555500000000, 0x555500021000};
  const std::vector<AddressRange> heaps = {
      texts.break_heap, {0x7f0000000000, 0x7f0000021000}, {0x7f0020000000, 0x7f0024021000}};
  EXPECT_EQ(glibc_heaps(texts), heaps);
  EXPECT_TRUE(glibc_heaps({}).empty());
}

TEST(ProcessSampler, FindsWhoseCodeIsWhere) {
  EXPECT_EQ(parse_code_owners(kPrivateText),
            (std::vector<CodeOwner>{{{0x400000, 0x401000}, "program"},
                                    {{0x20030000, 0x20031000}, "libz"}}));
}

// Pages by owner of a sample of that text in which all but the pages of code are resident, 600 kB.
std::vector<schema::OwnedMemory> owners_in(const LiveSet& live, const MemoryOwners& owners,
                                           const std::string& raw_owner = "",
                                           const std::string& anonymous_kb = "100000") {
  ProcTexts texts{"\nRssAnon:\t" + anonymous_kb + " kB\n", kPrivateText};
  texts.anonymous = parse_writable_anonymous(texts.maps);
  texts.first_stack = parse_first_stack(texts.maps);
  texts.private_mappings = parse_private(texts.maps);
  texts.resident = {{{0x401000, 0x406000},
                     {0x500000, 0x580000},
                     {0x10010000, 0x10020000},
                     {0x20000000, 0x20002000},
                     {0x20020000, 0x20022000},
                     {0x20032000, 0x20033000},
                     {0x7ffc00000000, 0x7ffc00001000}}};
  auto sums = make_sample(texts, live, nullptr, {}, owners, raw_owner).parts.owners;
  for (schema::OwnedMemory& sum : sums) sum.bytes /= 4096;
  return sums;
}

using Owners = std::vector<schema::OwnedMemory>;

TEST(ProcessSampler, SaysWhoHasWhatIsBesideMalloc) {
  MemoryOwners owners;
  const auto map = [&](uint64_t begin, uint64_t end, uint64_t caller) {
    owners.note({.op = schema::MappingOp::kMap, .range = {begin, end}, .caller = caller});
  };
  map(0x10010000, 0x1001c000, 0x400100);  // 12 of 16 pages
  map(0x20000000, 0x20010000, 0x400100);  // which has a name
  map(0x404000, 0x406000, 0x20030100);
  owners.name_callers(parse_code_owners(kPrivateText));
  LiveSet live;
  live.insert(0x500010);
  EXPECT_EQ(owners_in(live, owners),
            (Owners{{"program", 12}, {"data", 5}, {"a_b", 2}, {"libz", 2}}));
  EXPECT_EQ(owners_in(live, owners, "goer"),
            (Owners{{"program", 12}, {"data", 5}, {"goer", 5}, {"a_b", 2}, {"libz", 2}}));
  // malloc has nothing there any more.
  EXPECT_EQ(owners_in(LiveSet(), owners),
            (Owners{{"heap", 128}, {"program", 12}, {"data", 5}, {"a_b", 2}, {"libz", 2}}));
}

// The kernel's sums are behind by some pages.
TEST(ProcessSampler, GivesOwnersNoMoreThanThereIs) {
  EXPECT_EQ(owners_in(LiveSet(), MemoryOwners(), "", "524"), (Owners{{"heap", 128}, {"data", 2}}));
  EXPECT_EQ(owners_in(LiveSet(), MemoryOwners(), "", "4"), Owners());
}

TEST(ProcessSampler, NamesNoMoreOwnersThanATapeTakes) {
  std::string maps;
  ProcTexts texts{"\nRssAnon:\t100000 kB\n", ""};
  texts.resident.emplace();
  for (uint64_t i = 0; i < 100; ++i) {
    const AddressRange page{0x10000 * (i + 1), 0x10000 * (i + 1) + 4096};
    texts.private_mappings.push_back({page, "n" + std::to_string(i), true});
    texts.resident->push_back(page);
  }
  const auto sample = make_sample(texts, LiveSet(), nullptr);
  EXPECT_EQ(sample.parts.owners.size(), schema::kMostOwners);
}

TEST(ProcessSampler, FindsTheFirstStackInTheText) {
  const std::string stack = "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n";
  const std::string file = "7f0000000000-7f0000001000 r--p 00000000 fe:00 7 /tmp/[stack]\n";
  const std::string vdso = "7ffc00100000-7ffc00102000 r-xp 00000000 00:00 0 [vdso]\n";
  const AddressRange expected{0x7ffc00000000, 0x7ffc00021000};
  EXPECT_EQ(parse_first_stack(file + stack + vdso), expected);
  EXPECT_EQ(parse_first_stack(stack), expected);
  EXPECT_EQ(parse_first_stack(file + vdso), AddressRange());
  EXPECT_EQ(parse_first_stack("[stack]\n"), AddressRange());
  EXPECT_EQ(parse_first_stack(""), AddressRange());
}

TEST(ProcessSampler, TakesNoForeignWordForAStack) {
  const ProcTexts texts = texts_with_stacks();
  for (const uint64_t block : {uint64_t{1}, uint64_t{0xffff}, uint64_t{0x18000}, uint64_t{0x2a000},
                               uint64_t{0x85000}, UINT64_MAX}) {
    EXPECT_EQ(stack_bytes(texts, LiveSet(), {block}), 4096u) << block;
  }
  LiveSet live;
  live.insert(0x20010);
  EXPECT_EQ(stack_bytes(texts, live, {0x22fc0}), 4096u);  // malloc's
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

// What /proc may say while a process changes: in any order, with regions of no size, line feeds and
// spaces in names, and broken off anywhere.
std::string hostile_maps(tests::Random& random) {
  const char* const ends[] = {"rw-p 00000000 00:00 0 ",
                              "rw-p 00000000 00:00 0          [heap]",
                              "rw-p 00000000 00:00 0          [anon:a \\012 b]",
                              "rwxp 00000000 00:00 0 ",
                              "---p 00000000 00:00 0 ",
                              "rw-p 00000000 08:01 7          /a b (deleted)",
                              "r-xp 00001000 08:01 7          /a\\012b",
                              "rw-p",
                              ""};
  std::string maps;
  for (int i = 0; i < 12; ++i) {
    const uint64_t begin = (0x1000 + random.below(1 << 20)) << 12;
    const uint64_t end = random.chance(5) ? begin - random.below(2) * 4096 : begin + 4096;
    char text[80];
    snprintf(text, sizeof text, "%zx-%s%zx ", size_t{begin},
             random.chance(9) ? "fffffffffffffffff" : "", size_t{end});
    maps += text + std::string(ends[random.below(std::size(ends))]) +
            (random.chance(9) ? "\n\n" : "\n");
  }
  return maps;
}

TEST(ProcessSampler, TakesTheSameFromATextThatBreaksOffAsFarAsItGoes) {
  tests::SeededRandom random;
  for (int round = 0; round < 20; ++round) {
    const std::string maps = hostile_maps(random);
    const auto whole = parse_writable_anonymous(maps);
    const auto all_code = parse_code(maps);
    for (const AddressRange& range : whole) EXPECT_EQ(range.bytes(), 4096u);
    for (size_t size = 0; size < maps.size(); ++size) {
      const auto ranges = parse_writable_anonymous(maps.substr(0, size));
      ASSERT_LE(ranges.size(), whole.size());
      EXPECT_TRUE(std::equal(ranges.begin(), ranges.end(), whole.begin())) << maps.substr(0, size);
      EXPECT_LE(parse_code(maps.substr(0, size)).size(), all_code.size());
    }
  }
}

TEST(ProcessSampler, CountsNoMoreForMallocThanIsResidentWhateverProcSays) {
  tests::SeededRandom random;
  LiveSet live;
  for (int i = 0; i < 1000; ++i) live.insert((0x1000 + random.below(1 << 20)) << 12);
  for (int round = 0; round < 100; ++round) {
    ProcTexts texts{"\nRssAnon:\t" + std::to_string(random.below(100)) +
                        " kB\nVmSwap: 18446744073709551616 kB\nVmHWM:",
                    hostile_maps(random)};
    texts.anonymous = parse_writable_anonymous(texts.maps);
    texts.resident = parse_writable_anonymous(hostile_maps(random));
    texts.resident->insert(texts.resident->end(), texts.anonymous.begin(), texts.anonymous.end());
    const auto sample = make_sample(texts, live, nullptr);
    EXPECT_LT(sample.resident_bytes, 100u << 10);
    EXPECT_EQ(sample.parts.peak_bytes, 0u);
    EXPECT_LE(*sample.parts.malloc_bytes, sample.resident_bytes);
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

// In /proc/PID/stat the name stands in front of the parent's pid.
TEST(ProcessSampler, KnowsTheParentOfAProcessWhateverItsName) {
  for (const char* const name : {"a) R 1 (b", "a ) 2", "(((", ")))", " "}) {
    int said[2];
    ASSERT_EQ(pipe(said), 0);
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_NAME, name);
      if (write(said[1], "x", 1) == 1) pause();
      _exit(1);
    }
    char byte = 0;
    EXPECT_EQ(read(said[0], &byte, 1), 1);
    EXPECT_EQ(identify_process(static_cast<uint32_t>(child), nullptr).parent_pid, own_pid())
        << name;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(said[0]);
    close(said[1]);
  }
}

TEST(ProcessSampler, KnowsNobodyByAPidThatIsNotThere) {
  const ProcessIdentity identity = identify_process(0x7fffffff, nullptr);
  EXPECT_EQ(identity.executable, "");
  EXPECT_TRUE(identity.command_line.empty());
  EXPECT_EQ(identity.parent_pid, 0u);
}

}  // namespace
}  // namespace heaptape::recorder
