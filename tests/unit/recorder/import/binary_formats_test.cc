// The formats that have calls in binary records: mallocbench, trace-replay, mtrace2.
#include <gtest/gtest.h>

#include "tests/support/tapes.h"
#include "tests/support/traces.h"

namespace heaptape::recorder {
namespace {

using schema::Absent;
using tests::raw_bytes;

class BinaryFormats : public testing::Test {
 protected:
  std::string calls(const std::string& format, const std::string& bytes) {
    result_ = importer_.import(format, bytes);
    return importer_.calls();
  }
  std::string first_malformed() const {
    const auto& pieces = result_.troubles.malformed_pieces;
    return pieces.empty() ? "" : std::to_string(pieces[0].at) + ": " + pieces[0].text;
  }

  tests::TraceImporter importer_;
  ImportResult result_;
};

class MallocbenchFormat : public BinaryFormats {
 protected:
  static std::string op(int32_t code, uint16_t thread, uint16_t log2, uint64_t slot,
                        uint64_t size) {
    return raw_bytes(code) + raw_bytes(thread) + raw_bytes(log2) + raw_bytes(slot) +
           raw_bytes(size);
  }
};

TEST_F(MallocbenchFormat, HasEveryCall) {
  EXPECT_EQ(calls("mallocbench", op(0, 0, 0, 0, 24) + op(3, 2, 12, 5, 100) + op(2, 0, 0, 0, 2000) +
                                     op(1, 0, 0, 0, 0) + op(1, 2, 0, 5, 0)),
            "t0 malloc(24) = 0x100000000000\nt1 memalign(4096, 100) = 0x100000001000\n"
            "t0 realloc(0x100000000000, 2000) = 0x100000001070\nt0 free(0x100000001070)\n"
            "t1 free(0x100000001000)\n");
  EXPECT_TRUE(result_.origin.lacks(Absent::kAddresses));
}

TEST_F(MallocbenchFormat, WhatIsNoOperationIsMalformedAndNamedByItsByte) {
  calls("mallocbench",
        op(0, 0, 0, 0, 24) + op(1, 0, 0, 0, 0) + std::string(62 * 24, '\0') + op(9, 0, 0, 0, 0));
  EXPECT_EQ(first_malformed(), "1536: no such operation");
}

TEST_F(MallocbenchFormat, ARecordThatIsCutIsMalformed) {
  EXPECT_EQ(calls("mallocbench", op(0, 0, 0, 0, 24) + op(1, 0, 0, 0, 0).substr(0, 20)),
            "t0 malloc(24) = 0x100000000000\n");
  EXPECT_EQ(first_malformed(), "24: the trace ends within a record");
}

TEST_F(MallocbenchFormat, AnotherFileIsNotTakenForOne) {
  EXPECT_FALSE(importer_.try_import("mallocbench", std::string(64, '\x7f')).ok());
}

class TraceReplayFormat : public BinaryFormats {
 protected:
  static std::string op(uint8_t type, uint64_t reg, uint64_t first = 0, uint64_t second = 0) {
    return raw_bytes(reg << 8 | type) + raw_bytes(first) + raw_bytes(second);
  }
};

TEST_F(TraceReplayFormat, HasEveryCall) {
  EXPECT_EQ(calls("trace-replay", op(5, 0, 77) + op(0, 1, 24) + op(3, 2, 100, 64) + op(5, 0, 78) +
                                      op(4, 1, 3, 2000) + op(1, 3) + op(2, 2)),
            "t0 malloc(24) = 0x100000000000\nt0 memalign(64, 100) = 0x100000000040\n"
            "t1 realloc(0x100000000000, 2000) = 0x1000000000b0\nt1 free(0x1000000000b0)\n"
            "t1 free(0x100000000040)\n");
}

TEST_F(TraceReplayFormat, HasTimesAndTheEndsOfThreads) {
  EXPECT_EQ(calls("trace-replay", op(7, 0, 1'000'000) + op(5, 0, 77) + op(0, 1, 24) + op(6, 0) +
                                      op(7, 0, 3'000'000) + op(5, 0, 77) + op(1, 1)),
            "t0 malloc(24) = 0x100000000000\nt1 free(0x100000000000)\n");
  EXPECT_EQ(result_.summary.duration_ns, 2'000'000u);
  EXPECT_FALSE(result_.origin.lacks(Absent::kTimes));
}

TEST_F(TraceReplayFormat, AnotherFileIsNotTakenForOne) {
  EXPECT_FALSE(importer_.try_import("trace-replay", op(8, 0) + op(0, 1, 24)).ok());
}

class Mtrace2Format : public BinaryFormats {
 protected:
  static std::string op(uint32_t type, uint64_t ptr1, uint64_t ptr2, uint64_t size,
                        uint64_t size2 = 0, int32_t thread = 9) {
    return raw_bytes(thread) + raw_bytes(type | 1 << 11) + raw_bytes(ptr1) + raw_bytes(ptr2) +
           raw_bytes(size) + raw_bytes(size2) + std::string(24, '\0');
  }
  const std::string magic_ = op(255, 0x1234, 0, 8);
};

TEST_F(Mtrace2Format, HasEveryCall) {
  EXPECT_EQ(calls("mtrace2",
                  magic_ + op(1, 0, 0x10, 24) + op(2, 0, 0x50, 30, 0, 8) + op(5, 0, 0x100, 9, 64) +
                      op(6, 0, 0x1000, 1) + op(7, 0, 0x2000, 1) + op(8, 0, 0x140, 9, 64) +
                      op(4, 0x10, 0x30, 12, 24) + op(3, 0x30, 0, 0, 24) + op(0, 0, 0, 0)),
            "t0 malloc(24) = 0x10\nt1 calloc(30) = 0x50\nt0 memalign(64, 9) = 0x100\n"
            "t0 valloc(1) = 0x1000\nt0 pvalloc(1) = 0x2000\n"
            "t0 posix_memalign(64, 9) = 0x140\nt0 realloc(0x10, 12) = 0x30\nt0 free(0x30)\n");
}

TEST_F(Mtrace2Format, WithoutItsFirstRecordItIsNotOne) {
  EXPECT_FALSE(importer_.try_import("mtrace2", op(1, 0, 0x10, 24)).ok());
}

TEST_F(Mtrace2Format, AnAddressThatNoProcessHasIsMalformed) {
  calls("mtrace2", magic_ + op(1, 0, UINT64_MAX, 24) + op(99, 0, 0, 0));
  EXPECT_EQ(result_.troubles.malformed, 2u);
  EXPECT_EQ(first_malformed(), "64: no process has such an address or size");
}

class MallocBenchFormat : public BinaryFormats {
 protected:
  static std::string message(char field, const std::string& body) {
    return std::string{static_cast<char>(field << 3 | 2), static_cast<char>(body.size())} + body;
  }
  // A call of the kind, with the values of its fields from 1 on, each below 128.
  static std::string call(char kind, const std::string& values) {
    std::string body;
    char field = 0;
    for (const char value : values) body += {static_cast<char>(++field << 3), value};
    return message(1, message(kind, body));
  }
};

TEST_F(MallocBenchFormat, HasEveryCall) {
  EXPECT_EQ(
      calls("malloc-bench", call(1, {0, 24}) + call(1, {1, 50, 64}) + call(4, {2, 3, 9}) +
                                call(3, {3, 0, 100}) + call(2, {3}) + std::string("\x10\x03")),
      "t0 malloc(24) = 0x100000000000\nt0 aligned_alloc(64, 50) = 0x100000000040\n"
      "t0 calloc(27) = 0x100000000080\nt0 realloc(0x100000000000, 100) = 0x1000000000b0\n"
      "t0 free(0x1000000000b0)\n");
}

TEST_F(MallocBenchFormat, ACallWithoutAResultFailed) {
  EXPECT_EQ(calls("malloc-bench", message(1, message(1, {16, 24})) + call(2, "")),
            "t0 malloc(24) = NULL\nt0 free(NULL)\n");
}

TEST_F(MallocBenchFormat, ACallThatIsNoneIsMalformedAndTheNextOneIsRead) {
  EXPECT_EQ(calls("malloc-bench", call(1, {0, 24}) + call(7, {1}) + call(2, {0})),
            "t0 malloc(24) = 0x100000000000\nt0 free(0x100000000000)\n");
  EXPECT_EQ(first_malformed(), "8: no such call");
}

TEST_F(MallocBenchFormat, WhereNoFieldIsTheRestIsLeftOut) {
  calls("malloc-bench", call(1, {0, 24}) + "\x7f" + call(2, {0}));
  EXPECT_EQ(first_malformed(), "8: there is no call; the rest is omitted");
  calls("malloc-bench", (call(1, {0, 24}) + call(2, {0})).substr(0, 12));
  EXPECT_EQ(result_.troubles.malformed, 1u);
}

class MaltFormat : public BinaryFormats {
 protected:
  static std::string chunk(uint64_t address, uint64_t size, uint64_t born, uint64_t lifetime) {
    return raw_bytes(uint64_t{0x77}) + raw_bytes(address) + raw_bytes(size) + raw_bytes(born) +
           raw_bytes(lifetime);
  }
};

TEST_F(MaltFormat, BlocksAreAllocatedAndFreedInTheOrderOfTheirTimes) {
  EXPECT_EQ(
      calls("malt", chunk(0x40, 30, 20, 5) + chunk(0x10, 24, 10, 30) + chunk(0x40, 7, 25, 90)),
      "t0 malloc(24) = 0x10\nt0 malloc(30) = 0x40\nt0 free(0x40)\nt0 malloc(7) = 0x40\n"
      "t0 free(0x10)\nt0 free(0x40)\n");
  EXPECT_EQ(result_.troubles.missed_frees, 0u);
}

TEST_F(MaltFormat, WhatNoProcessHasIsMalformed) {
  std::string bytes;
  for (uint64_t i = 1; i <= 64; ++i) bytes += chunk(0x10 * i, 1, 1, 1);
  calls("malt", bytes + chunk(0, 1, 1, 1) + chunk(0x10, 1, 5, UINT64_MAX) + "cut");
  EXPECT_EQ(result_.troubles.malformed, 3u);
  EXPECT_EQ(first_malformed(), "2560: no process has such an address, size or time");
}

TEST_F(MaltFormat, MoreThanARunIsSortedInTheSameOrder) {
  std::string bytes;
  constexpr uint64_t kBlocks = 700'000;
  for (uint64_t i = 1; i <= kBlocks; ++i) {
    const uint64_t born = i * 7'919 % kBlocks;
    bytes += chunk(0x1000 + 16 * born, 1 + born % 90, born, 1 + i % 1000);
  }
  result_ = importer_.import("malt", bytes);
  EXPECT_EQ(result_.summary.events, 2 * kBlocks);
  auto tape = std::move(*schema::TapeReader::open(importer_.tape()));
  uint64_t next = 0;
  for (const schema::Event& event : tests::read_events(tape)) {
    if (event.address == 0) continue;
    ASSERT_EQ(event.address, 0x1000 + 16 * next++);
  }
}

}  // namespace
}  // namespace heaptape::recorder
