// heaptape record --stacks MODE,size=SIZES: which calls have their stacks.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using schema::Event;
using schema::Op;

// Calls that asked for a block, and those of them that have a stack.
struct CallsOfSize {
  uint64_t all = 0;
  uint64_t with_stack = 0;
};

class StackSizes : public testing::Test {
 protected:
  void record(const std::string& stacks) {
    const auto ended = tests::run({"heaptape", "record", "--force", "--stacks", stacks, "-o", tape_,
                                   "--", tests::target_path("chosen_sizes")});
    ASSERT_EQ(ended.status, 0) << ended.describe();
  }
  template <typename Visit>
  static void for_each_request(const std::string& path, Visit visit) {
    auto tape = schema::TapeReader::open(path);
    ASSERT_TRUE(tape.ok()) << path;
    schema::EventBatch batch;
    do {
      ASSERT_TRUE(tape->read(batch, 1000).ok());
      for (size_t i = 0; i < batch.events.size(); ++i) {
        const Event& event = batch.events[i];
        if (schema::op_info(event.op).kind == schema::OpKind::kRelease) continue;
        visit(event, !batch.stacks.empty() && batch.stacks[i] != 0);
      }
    } while (!batch.events.empty());
  }
  static std::map<uint64_t, CallsOfSize> by_size(const std::string& path) {
    std::map<uint64_t, CallsOfSize> sizes;
    for_each_request(path, [&sizes](const Event& event, bool has_stack) {
      ++sizes[event.size].all;
      sizes[event.size].with_stack += has_stack ? 1 : 0;
    });
    return sizes;
  }
  // Exactly the calls for 48 bytes and for 1,024 to 4,096 have their stacks.
  static void expect_chosen(const std::string& path, uint64_t threads) {
    auto sizes = by_size(path);
    for (const auto& [size, calls] : sizes) {
      const bool is_chosen = size == 48 || (size >= 1024 && size <= 4096);
      EXPECT_EQ(calls.with_stack, is_chosen ? calls.all : 0) << size;
    }
    EXPECT_GE(sizes[48].all, threads * 900);
    EXPECT_GE(sizes[1024].all, threads * 700);
    EXPECT_GE(sizes[4097].all, threads * 700);
  }

  tests::TempDir dir_;
  std::string tape_ = dir_.file("a.tape");
};

TEST_F(StackSizes, AreTheOnlyOnesWithStacks) {
  record("dwarf,size=48+1KiB-4KiB");
  expect_chosen(tape_, 2);
}

TEST_F(StackSizes, AreThoseOfChildrenToo) {
  record("dwarf,size=48+1KiB-4KiB");
  size_t children = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    if (file.path().extension() != ".tape" || file.path() == tape_) continue;
    expect_chosen(file.path(), 1);
    ++children;
  }
  EXPECT_EQ(children, 1u);
}

TEST_F(StackSizes, AreChosenWhenFramePointersAreFollowedToo) {
  record("fp,depth=3,size=48+1KiB-4KiB");
  expect_chosen(tape_, 2);
}

TEST_F(StackSizes, HoldForEveryEntryPoint) {
  record("dwarf,size=48");
  std::map<Op, CallsOfSize> ops;
  for_each_request(tape_, [&ops](const Event& event, bool has_stack) {
    if (event.size != 48) return;
    ++ops[event.op].all;
    ops[event.op].with_stack += has_stack ? 1 : 0;
  });
  for (const Op op : {Op::kMalloc, Op::kCalloc, Op::kAlignedAlloc, Op::kMemalign,
                      Op::kPosixMemalign, Op::kRealloc, Op::kReallocArray}) {
    EXPECT_GE(ops[op].all, 200u) << static_cast<int>(op);
    EXPECT_EQ(ops[op].with_stack, ops[op].all) << static_cast<int>(op);
  }
}

// A resize has its stack if its new size is chosen, whatever its old one is.
TEST_F(StackSizes, AreTheNewOnesOfResizes) {
  record("dwarf,size=48");
  uint64_t into = 0;
  uint64_t out_of = 0;
  for_each_request(tape_, [&](const Event& event, bool has_stack) {
    if (event.op != Op::kRealloc || event.freed_address == 0) return;
    if (event.size == 48) into += has_stack ? 1 : 1000;
    if (event.size == 200) out_of += has_stack ? 1000 : 1;
  });
  EXPECT_EQ(into, 200u);
  EXPECT_EQ(out_of, 200u);
}

TEST_F(StackSizes, AreCompleteWhereOthersAreSampled) {
  record("dwarf,every=16KiB,size=48");
  auto sizes = by_size(tape_);
  EXPECT_EQ(sizes[48].with_stack, sizes[48].all);
  for (const uint64_t size : {1024u, 4096u}) {
    EXPECT_GT(sizes[size].with_stack, 0u) << size;
    EXPECT_LT(sizes[size].with_stack, sizes[size].all / 2) << size;
  }
}

TEST_F(StackSizes, AreInTheFactsOfTheTape) {
  record("dwarf,depth=30,every=16KiB,size=48+1KiB-4KiB");
  const std::string facts = tests::run({"heaptape", "info", tape_}).out;
  EXPECT_NE(facts.find("of all calls for 48 or 1,024 to 4,096 bytes, and of other calls chosen at "
                       "random, about one per 16.0 KiB requested"),
            std::string::npos)
      << facts;
  const std::string json = tests::run({"heaptape", "info", "--json", tape_}).out;
  EXPECT_NE(json.find(R"("sizes": [{"least": 48, "most": 48}, {"least": 1024, "most": 4096}])"),
            std::string::npos)
      << json;
}

TEST_F(StackSizes, AreNamedWithTheSites) {
  record("dwarf,size=48");
  const auto ended = tests::run({"heaptape", "stats", "--by", "site", tape_});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("sites of calls for 48 bytes only"), std::string::npos) << ended.out;
  EXPECT_EQ(ended.out.find("(no stack)"), std::string::npos) << ended.out;
}

}  // namespace
}  // namespace heaptape
