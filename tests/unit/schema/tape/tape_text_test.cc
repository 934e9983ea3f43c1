#include "schema/tape/tape_text.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"

namespace heaptape::schema {
namespace {

std::string line(TextFormat format, const Event& event) {
  std::string out;
  append_event(out, format, 7, event);
  return out;
}

TEST(TapeText, ShowsAnAllocation) {
  EXPECT_EQ(line(TextFormat::kText, tests::malloc_event(232, 0x5581c0, 3)),
            "7 t3 malloc(232) = 0x5581c0\n");
}

TEST(TapeText, ShowsARelease) {
  EXPECT_EQ(line(TextFormat::kText, tests::free_event(0x5581c0)), "7 t0 free(0x5581c0)\n");
}

TEST(TapeText, ShowsAResize) {
  EXPECT_EQ(line(TextFormat::kText, tests::realloc_event(0x5581c0, 100, 0x5581f0)),
            "7 t0 realloc(0x5581c0, 100) = 0x5581f0\n");
}

TEST(TapeText, ShowsNullAndAlignments) {
  const Event event{Op::kPosixMemalign, 0, 10, 64, 0, 0};
  EXPECT_EQ(line(TextFormat::kText, event), "7 t0 posix_memalign(64, 10) = NULL\n");
}

TEST(TapeText, ShowsTheEndOfAThread) {
  std::string out;
  append_end(out, TextFormat::kText, {7, 3});
  append_end(out, TextFormat::kNdjson, {7, 3});
  EXPECT_EQ(out, "7 t3 ends\n{\"n\":7,\"thread\":3,\"end\":true}\n");
}

TEST(TapeText, ShowsAMark) {
  std::string out;
  append_mark(out, TextFormat::kText, {7, 1234567, "warm"});
  append_mark(out, TextFormat::kNdjson, {7, 1234567, "warm"});
  EXPECT_EQ(out, "7 mark warm at 0.001234567\n{\"n\":7,\"mark\":\"warm\",\"timeNs\":1234567}\n");
}

TEST(TapeText, ShowsWhenACallWasMade) {
  std::string out;
  append_event(out, TextFormat::kText, 7, tests::free_event(0x5581c0), 1'234'567'890);
  append_event(out, TextFormat::kNdjson, 7, tests::free_event(0x5581c0), 1'234'567'890);
  EXPECT_EQ(out,
            "7 t0 free(0x5581c0) at 1.234567890\n{\"n\":7,\"thread\":0,\"op\":\"free\","
            "\"freed\":\"0x5581c0\",\"timeNs\":1234567890}\n");
}

TEST(TapeText, ShowsTheStackOfACall) {
  std::string out;
  append_event(out, TextFormat::kText, 7, tests::malloc_event(1, 0x10), 1'000'000'000, 3);
  append_event(out, TextFormat::kNdjson, 7, tests::malloc_event(1, 0x10), {}, 3);
  EXPECT_EQ(out,
            "7 t0 malloc(1) = 0x10 stack 3 at 1.000000000\n{\"n\":7,\"thread\":0,"
            "\"op\":\"malloc\",\"size\":1,\"address\":\"0x10\",\"stack\":3}\n");
}

TEST(TapeText, ShowsTheFramesOfAStack) {
  std::string out;
  append_stack(out, TextFormat::kText, 3, {"inner", "main"});
  append_stack(out, TextFormat::kNdjson, 3, {"operator\"\"_x", "main"});
  append_stack(out, TextFormat::kNdjson, 4, {});
  EXPECT_EQ(out,
            "    inner\n    main\n"
            "{\"stack\":3,\"frames\":[\"operator\\\"\\\"_x\",\"main\"]}\n"
            "{\"stack\":4,\"frames\":[]}\n");
}

TEST(TapeText, WritesOneJsonObjectALine) {
  EXPECT_EQ(line(TextFormat::kNdjson, tests::realloc_event(0, 100, 0x5581f0)),
            "{\"n\":7,\"thread\":0,\"op\":\"realloc\",\"freed\":null,\"size\":100,"
            "\"address\":\"0x5581f0\"}\n");
}

TEST(TapeText, ShowsMappingCallsWithTheirArguments) {
  std::string out;
  MappingCall call{.event = 7, .thread = 3, .range = {0x10000, 0x14000}, .stack = 12};
  call.detail = uint64_t{0x22} << 32 | 3;
  append_mapping_call(out, TextFormat::kText, call);
  append_mapping_call(out, TextFormat::kNdjson, call);
  call.stack = 0;
  call.detail = 4;
  for (const MappingOp op : {MappingOp::kUnmap, MappingOp::kProtect, MappingOp::kAdvise}) {
    call.op = op;
    append_mapping_call(out, TextFormat::kText, call);
  }
  append_mapping_call(out, TextFormat::kNdjson, call);
  EXPECT_EQ(out,
            "7 t3 mmap(0x10000, 16384, 0x3, 0x22) stack 12\n"
            "{\"n\":7,\"thread\":3,\"mapping\":\"mmap\",\"begin\":65536,\"bytes\":16384,"
            "\"protection\":3,\"flags\":34,\"stack\":12}\n"
            "7 t3 munmap(0x10000, 16384)\n"
            "7 t3 mprotect(0x10000, 16384, 0x4)\n"
            "7 t3 madvise(0x10000, 16384, 0x4)\n"
            "{\"n\":7,\"thread\":3,\"mapping\":\"madvise\",\"begin\":65536,\"bytes\":16384,"
            "\"advice\":4}\n");
}

}  // namespace
}  // namespace heaptape::schema
