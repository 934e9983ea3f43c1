// The formats that have a call a line: android, mtrace, malloclab, logalloc, heaptrack.
#include <gtest/gtest.h>

#include "tests/support/tapes.h"
#include "tests/support/traces.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;

class TextFormats : public testing::Test {
 protected:
  std::string calls(const std::string& format, const std::string& text) {
    result_ = importer_.import(format, text);
    return importer_.calls();
  }
  bool lacks(Absent what) const { return result_.origin.lacks(what); }
  std::string first_malformed() const {
    const auto& pieces = result_.troubles.malformed_pieces;
    return pieces.empty() ? "" : std::to_string(pieces[0].at) + ": " + pieces[0].text;
  }

  tests::TraceImporter importer_;
  ImportResult result_;
};

class AndroidFormat : public TextFormats {};

TEST_F(AndroidFormat, HasEveryCall) {
  EXPECT_EQ(calls("android",
                  "5: malloc 0x1000 24\n6: calloc 0x2000 3 8\n5: memalign 0x3000 64 100\n"
                  "5: realloc 0x4000 0x1000 48\n5: free 0x4000\n"),
            "t0 malloc(24) = 0x1000\nt1 calloc(24) = 0x2000\nt0 memalign(64, 100) = 0x3000\n"
            "t0 realloc(0x1000, 48) = 0x4000\nt0 free(0x4000)\n");
}

TEST_F(AndroidFormat, AThreadThatIsDoneIsFollowedByAnotherOfItsNumber) {
  EXPECT_EQ(calls("android", "5: malloc 0x1000 24\n5: thread_done 0x0\n5: free 0x1000\n"),
            "t0 malloc(24) = 0x1000\nt1 free(0x1000)\n");
}

TEST_F(AndroidFormat, HasTimesWhereTheTraceHas) {
  calls("android", "5: malloc 0x1000 24 1000 2000\n5: free 0x1000 5000000 6000000\n");
  EXPECT_FALSE(lacks(Absent::kTimes));
  EXPECT_EQ(result_.summary.duration_ns, 5'998'000u);
  calls("android", "5: malloc 0x1000 24\n");
  EXPECT_TRUE(lacks(Absent::kTimes));
}

TEST_F(AndroidFormat, TagsOfPointersAreNoPartOfTheAddress) {
  EXPECT_EQ(calls("android", "5: malloc 0xb400007712345670 24\n5: free 0x7712345670\n"),
            "t0 malloc(24) = 0x7712345670\nt0 free(0x7712345670)\n");
  EXPECT_EQ(calls("android",
                  "5: malloc 0xb400007712345670 24\n"
                  "5: realloc 0xb400007712349990 0xb400007712345670 48\n"),
            "t0 malloc(24) = 0x7712345670\nt0 realloc(0x7712345670, 48) = 0x7712349990\n");
}

TEST_F(AndroidFormat, ALineThatIsCutIsMalformed) {
  EXPECT_EQ(calls("android", "5: malloc 0x1000 24\n5: calloc 0x2000 3\n5: free 0x1000 77\n"),
            "t0 malloc(24) = 0x1000\n");
  EXPECT_EQ(result_.troubles.malformed, 2u);
  EXPECT_EQ(first_malformed(), "2: 5: calloc 0x2000 3");
}

TEST_F(AndroidFormat, AProductThatOverflowsIsTheLargestSize) {
  EXPECT_EQ(calls("android", "5: calloc 0x0 9223372036854775808 4\n"),
            "t0 calloc(18446744073709551615) = NULL\n");
}

class MtraceFormat : public TextFormats {};

TEST_F(MtraceFormat, HasEveryCall) {
  EXPECT_EQ(calls("mtrace",
                  "= Start\n@ ./a.out:(main+0x1a)[0x401136] + 0x4052a0 0x18\n"
                  "@ ./a.out:[0x401150] < 0x4052a0\n@ ./a.out:[0x401150] > 0x4062c0 0x64\n"
                  "@ [0x401160] - 0x4062c0\n= End\n"),
            "t0 malloc(24) = 0x4052a0\nt0 realloc(0x4052a0, 100) = 0x4062c0\nt0 free(0x4062c0)\n");
}

TEST_F(MtraceFormat, TheCallerMayBeMissingOrHaveBlanksAndSigns) {
  EXPECT_EQ(calls("mtrace", "+ 0x10 0x8\n@ /x + y/[a] b:[0x4] - 0x10\n"),
            "t0 malloc(8) = 0x10\nt0 free(0x10)\n");
}

TEST_F(MtraceFormat, AResizeMayFail) {
  EXPECT_EQ(calls("mtrace", "+ 0x10 0x8\n! 0x10 0xffff\n+ (nil) 0x9\n"),
            "t0 malloc(8) = 0x10\nt0 realloc(0x10, 65535) = NULL\nt0 malloc(9) = NULL\n");
}

TEST_F(MtraceFormat, TheSecondHalfOfAResizeAloneIsMalformed) {
  EXPECT_EQ(calls("mtrace", "+ 0x10 0x8\n> 0x20 0x8\n< 0x10\n- 0x10\n> 0x20 0x8\n"),
            "t0 malloc(8) = 0x10\nt0 free(0x10)\n");
  EXPECT_EQ(result_.troubles.malformed, 2u);
}

TEST_F(MtraceFormat, SaysWhatItLacks) {
  calls("mtrace", "+ 0x10 0x8\n");
  EXPECT_TRUE(lacks(Absent::kThreads) && lacks(Absent::kTimes) && lacks(Absent::kAlignments));
  EXPECT_FALSE(lacks(Absent::kAddresses) || lacks(Absent::kResizes));
}

class MalloclabFormat : public TextFormats {};

TEST_F(MalloclabFormat, HasEveryCallAtAddressesThatAreMadeUp) {
  EXPECT_EQ(calls("malloclab", "20000\n2\n4\n1\na 0 512\na 1 16\nr 0 640\nf 1\nf 0\nf -1\n"),
            "t0 malloc(512) = 0x100000000000\nt0 malloc(16) = 0x100000000240\n"
            "t0 realloc(0x100000000000, 640) = 0x100000000260\nt0 free(0x100000000240)\n"
            "t0 free(0x100000000260)\nt0 free(NULL)\n");
  EXPECT_TRUE(lacks(Absent::kAddresses));
}

TEST_F(MalloclabFormat, APlaceIsUsedAgain) {
  EXPECT_EQ(calls("malloclab", "a 0 512\nf 0\na 1 510\n"),
            "t0 malloc(512) = 0x100000000000\nt0 free(0x100000000000)\n"
            "t0 malloc(510) = 0x100000000000\n");
}

TEST_F(MalloclabFormat, ANumberAmongTheCallsIsMalformed) {
  calls("malloclab", "7\na 0 512\n12\nb 1 2\na 1\n");
  EXPECT_EQ(result_.troubles.malformed, 3u);
  EXPECT_EQ(first_malformed(), "3: 12");
}

class LogallocFormat : public TextFormats {};

TEST_F(LogallocFormat, HasEveryCall) {
  EXPECT_EQ(calls("logalloc",
                  "18545 1 malloc(32)=0x7f90495120e0\n18545 2 calloc(1,148)=0x7f9049537480\n"
                  "18545 1 realloc(0x7f90495120e0,64)=0x7f9049536680\n"
                  "18545 1 posix_memalign(256,240)=0x7f9049583300\n18545 1 jemalloc_stats()\n"
                  "18545 1 free(0x7f9049536680)\n18545 1 valloc(1)=0x0\n"),
            "t0 malloc(32) = 0x7f90495120e0\nt1 calloc(148) = 0x7f9049537480\n"
            "t0 realloc(0x7f90495120e0, 64) = 0x7f9049536680\n"
            "t0 posix_memalign(256, 240) = 0x7f9049583300\nt0 free(0x7f9049536680)\n"
            "t0 valloc(1) = NULL\n");
  EXPECT_EQ(result_.troubles.malformed, 0u);
  EXPECT_FALSE(lacks(Absent::kAddresses));
}

TEST_F(LogallocFormat, OfAMungedLogAddressesAreMadeUp) {
  EXPECT_EQ(calls("logalloc", "1 1 malloc(32)=#1\n1 1 realloc(#1,400)=#1\n1 1 free(#1)\n"),
            "t0 malloc(32) = 0x100000000000\nt0 realloc(0x100000000000, 400) = 0x100000000030\n"
            "t0 free(0x100000000030)\n");
  EXPECT_TRUE(lacks(Absent::kAddresses));
}

TEST_F(LogallocFormat, LogsWithoutThreadsAreRead) {
  EXPECT_EQ(calls("logalloc", "9 malloc(32)=0x10\n9 free(0x10)\n"),
            "t0 malloc(32) = 0x10\nt0 free(0x10)\n");
}

TEST_F(LogallocFormat, CallsOfOtherProcessesAreLeftOutAndCounted) {
  EXPECT_EQ(calls("logalloc", "9 1 malloc(32)=0x10\n8 1 malloc(32)=0x10\n9 1 free(0x10)\n"),
            "t0 malloc(32) = 0x10\nt0 free(0x10)\n");
  EXPECT_EQ(result_.troubles.other_calls, 1u);
}

TEST_F(LogallocFormat, LinesThatAreCutAreMalformed) {
  calls("logalloc",
        "9 1 malloc(32)=0x10\n9 1 malloc(32\n9 1 free(0x10)=0x10\n9 1 calloc(3)=0x20\n9 1");
  EXPECT_EQ(result_.troubles.malformed, 4u);
}

class HeaptrackFormat : public TextFormats {};

constexpr char kHeaptrackHead[] = "v 10400 3\nx 9 /bin/true\nX /bin/true --now\nI 1000 3e8a2f\n";

TEST_F(HeaptrackFormat, HasTheCallsOfARawRecording) {
  EXPECT_EQ(
      calls("heaptrack", std::string(kHeaptrackHead) +
                             "t 4005c5 0\n+ 18 1 4052a0\nc a\nR 5\n- 4052a0\n+ 64 1 4062c0\n"),
      "t0 malloc(24) = 0x4052a0\nt0 free(0x4052a0)\nt0 malloc(100) = 0x4062c0\n");
  EXPECT_EQ(result_.summary.duration_ns, 10'000'000u);
  EXPECT_TRUE(lacks(Absent::kResizes));
}

TEST_F(HeaptrackFormat, KnowsTheCommand) {
  calls("heaptrack", std::string(kHeaptrackHead) + "+ 18 1 4052a0\n");
  const auto tape = schema::TapeReader::open(importer_.tape());
  EXPECT_EQ(tape->header().command_line, (std::vector<std::string>{"/bin/true", "--now"}));
}

TEST_F(HeaptrackFormat, OfAnInterpretedRecordingTheLastBlockOfItsKindIsFreed) {
  EXPECT_EQ(calls("heaptrack", std::string(kHeaptrackHead) +
                                   "s 4 true\na 18 1\n+ 0\n+ 0\na 200 1\n+ 1\n- 0\n- 0\n- 1\n"),
            "t0 malloc(24) = 0x100000000000\nt0 malloc(24) = 0x100000000020\n"
            "t0 malloc(512) = 0x100000000040\nt0 free(0x100000000020)\nt0 free(0x100000000000)\n"
            "t0 free(0x100000000040)\n");
  EXPECT_TRUE(lacks(Absent::kAddresses));
}

TEST_F(HeaptrackFormat, AKindThatIsNotThereIsMalformed) {
  calls("heaptrack", std::string(kHeaptrackHead) + "a 18 1\n+ 0\n+ 1\n- 7\nq\n");
  EXPECT_EQ(result_.troubles.malformed, 3u);
}

class WeeAllocFormat : public TextFormats {};

TEST_F(WeeAllocFormat, FreesTheAllocationOfThatNumber) {
  EXPECT_EQ(calls("wee_alloc", "Alloc(32),\nAlloc(8),\nFree(0),\nFree(1),\n"),
            "t0 malloc(32) = 0x100000000000\nt0 malloc(8) = 0x100000000030\n"
            "t0 free(0x100000000000)\nt0 free(0x100000000030)\n");
}

TEST_F(WeeAllocFormat, WhatIsCutIsMalformedAndANumberToComeIsUnknown) {
  calls("wee_alloc", "Alloc(32),\nAlloc(8)\nFree(7),\nRealloc(3),\n");
  EXPECT_EQ(result_.troubles.malformed, 2u);
  EXPECT_EQ(result_.troubles.unknown_frees, 1u);
}

}  // namespace
}  // namespace heaptape::recorder
