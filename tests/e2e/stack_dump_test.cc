// heaptape dump --stacks.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::run;

class DumpOfStacks : public testing::Test {
 protected:
  DumpOfStacks() { tests::write_stack_tape(tape_); }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(DumpOfStacks, HasTheFramesOfAStackWhereItComesFirst) {
  EXPECT_EQ(run({"heaptape", "dump", tape_, "--stacks"}).out,
            "1 t0 malloc(100) = 0x10000 stack 3\n"
            "    libstdc++.so.6+0x300\n"
            "    app+0x200\n"
            "    app+0x100\n"
            "2 t0 malloc(50) = 0x20000 stack 4\n"
            "    app+0x400\n"
            "    app+0x100\n"
            "3 t0 malloc(7) = 0x40000 stack 4\n"
            "4 t0 realloc(0x20000, 300) = 0x30000 stack 2\n"
            "    app+0x200\n"
            "    app+0x100\n"
            "5 t1 free(0x10000)\n"
            "6 t0 malloc(10) = 0x10000\n"
            "7 t0 free(0x10000)\n");
}

TEST_F(DumpOfStacks, BeginsWithTheFirstCallThatIsPrinted) {
  EXPECT_EQ(run({"heaptape", "dump", tape_, "--stacks", "--from", "3", "--to", "3"}).out,
            "3 t0 malloc(7) = 0x40000 stack 4\n"
            "    app+0x400\n"
            "    app+0x100\n");
}

TEST_F(DumpOfStacks, IsNdjson) {
  EXPECT_EQ(run({"heaptape", "dump", tape_, "--stacks", "--to", "1", "--format", "ndjson"}).out,
            R"({"n":1,"thread":0,"op":"malloc","size":100,"address":"0x10000","stack":3})"
            "\n"
            R"({"stack":3,"frames":["libstdc++.so.6+0x300","app+0x200","app+0x100"]})"
            "\n");
}

TEST_F(DumpOfStacks, IsLeftOutUnlessAskedFor) {
  EXPECT_EQ(run({"heaptape", "dump", tape_, "--to", "1"}).out, "1 t0 malloc(100) = 0x10000\n");
}

TEST_F(DumpOfStacks, NeedsStacks) {
  tests::write_tape(tape_, {tests::malloc_event(1, 0x1000)});
  tests::expect_refusal(run({"heaptape", "dump", tape_, "--stacks"}), "has no call stacks");
}

}  // namespace
}  // namespace heaptape
