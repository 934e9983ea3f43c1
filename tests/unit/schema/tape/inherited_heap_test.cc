// Tapes of forked processes, which begin with blocks that are on their parents' tapes.
#include "schema/tape/inherited_heap.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

using tests::free_event;
using tests::malloc_event;

constexpr uint64_t kParentStart = 1'700'000'000'000'000'000;
constexpr uint64_t kForkEvents = 5;

class InheritedHeapTest : public testing::Test {
 protected:
  static TapeHeader header(uint64_t start_unix_ns, StackMode stacks = StackMode::kNone) {
    TapeHeader header = tests::sample_header();
    header.start_unix_ns = start_unix_ns;
    header.stacks.mode = stacks;
    return header;
  }
  std::unique_ptr<TapeWriter> create(const std::string& name, const TapeHeader& header) const {
    return std::move(*TapeWriter::create(dir_.file(name), header));
  }
  // Forks after kForkEvents calls, with a block at 0x7000 and one at 0x8000, which was resized.
  void write_parent(const std::string& name = "parent.tape") const {
    const auto tape = create(name, header(kParentStart));
    tape->append(malloc_event(10, 0x5000));
    tape->append(malloc_event(20, 0x6000));
    tape->append(free_event(0x5000));
    tape->append(malloc_event(30, 0x7000, 3));
    tape->append({.op = Op::kRealloc, .size = 40, .address = 0x8000, .freed_address = 0x6000});
    tape->append(free_event(0x7000));
    tape->append(malloc_event(50, 0x9000));
    EXPECT_TRUE(tape->finish({}).ok());
  }
  static Inheritance from_parent() {
    return {.tape = "parent.tape", .start_unix_ns = kParentStart, .events = kForkEvents};
  }
  void write_child(const Inheritance& inheritance, const std::string& name = "child.tape") const {
    const auto tape = create(name, header(kParentStart + 1));
    tape->append(free_event(0x7000));
    tape->add_inheritance(inheritance);
    tape->append(malloc_event(60, 0xa000));
    EXPECT_TRUE(tape->finish({}).ok());
  }
  TapeReader open(const std::string& name = "child.tape",
                  Inherited inherited = Inherited::kJoin) const {
    auto reader = TapeReader::open(dir_.file(name), OnDamage::kStop, inherited);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  static std::vector<Event> read(TapeReader& reader, size_t batch_events = 4096) {
    return tests::read_events(reader, batch_events);
  }
  // The tape can be read, without a heap, and says why.
  void expect_problem(const std::string& part) const {
    TapeReader reader = open();
    EXPECT_EQ(reader.inherited_blocks(), 0u);
    EXPECT_NE(reader.inherited_problem().find(part), std::string::npos)
        << reader.inherited_problem();
    EXPECT_EQ(read(reader).size(), 2u);
  }

  tests::TempDir dir_;
};

const std::vector<Event> kJoined = {malloc_event(30, 0x7000), malloc_event(40, 0x8000),
                                    free_event(0x7000), malloc_event(60, 0xa000)};

TEST_F(InheritedHeapTest, ComesFirst) {
  write_parent();
  write_child(from_parent());
  TapeReader reader = open();
  EXPECT_EQ(reader.events(), 4u);
  EXPECT_EQ(reader.inherited_blocks(), 2u);
  EXPECT_EQ(reader.joined_blocks(), 2u);
  EXPECT_EQ(reader.inherited_problem(), "");
  EXPECT_EQ(read(reader), kJoined);
  for (uint64_t from = 0; from <= 4; ++from) {
    ASSERT_TRUE(reader.seek(from).ok());
    EXPECT_EQ(read(reader, 1),
              std::vector<Event>(kJoined.begin() + static_cast<ptrdiff_t>(from), kJoined.end()));
  }
}

TEST_F(InheritedHeapTest, IsLeftOutWhereThatIsAskedFor) {
  write_parent();
  write_child(from_parent());
  TapeReader reader = open("child.tape", Inherited::kLeaveOut);
  EXPECT_EQ(reader.inheritance(), from_parent());
  EXPECT_EQ(reader.inherited_blocks(), 0u);
  EXPECT_EQ(reader.events(), 2u);
  EXPECT_EQ(read(reader).front(), free_event(0x7000));
}

TEST_F(InheritedHeapTest, GoesThroughGenerations) {
  write_parent();
  write_child(from_parent());
  const Inheritance from_child{
      .tape = "child.tape", .start_unix_ns = kParentStart + 1, .events = 1};
  write_child(from_child, "grandchild.tape");
  TapeReader reader = open("grandchild.tape");
  EXPECT_EQ(read(reader), (std::vector<Event>{malloc_event(40, 0x8000), free_event(0x7000),
                                              malloc_event(60, 0xa000)}));
  const std::vector<Ancestor> ancestors = reader.ancestors();
  ASSERT_EQ(ancestors.size(), 2u);
  EXPECT_EQ(ancestors[0].path, dir_.file("parent.tape"));
  EXPECT_EQ(ancestors[0].events, kForkEvents);
  EXPECT_EQ(ancestors[1].path, dir_.file("child.tape"));
  EXPECT_EQ(ancestors[1].events, 1u);
}

TEST_F(InheritedHeapTest, MovesAllThatIsBesideTheCalls) {
  const auto parent = create("parent.tape", header(kParentStart));
  parent->add_steering({.op = SteeringOp::kMallopt, .first = -3, .second = 4096});
  parent->add_steering({.op = SteeringOp::kMallocTrim});
  parent->append(malloc_event(10, 0x5000));
  EXPECT_TRUE(parent->finish({}).ok());
  const auto child = create("child.tape", header(kParentStart + 1));
  child->add_inheritance({.tape = "parent.tape", .start_unix_ns = kParentStart, .events = 1});
  child->append(malloc_event(20, 0x6000));
  child->add_time(77);
  ProcessSample sample;
  sample.resident_bytes = 4096;
  child->add_sample(sample);
  child->add_mark("here", 78);
  child->add_steering({.op = SteeringOp::kMallocTrim});
  child->add_mapping_call({.range = {0x100000, 0x101000}});
  child->add_end(0);
  EXPECT_TRUE(child->finish({}).ok());
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.events, std::vector<Event>{malloc_event(10, 0x5000)});
  ASSERT_EQ(batch.steering.size(), 1u) << "only what lasts";
  EXPECT_EQ(batch.steering[0].op, SteeringOp::kMallopt);
  EXPECT_EQ(batch.steering[0].event, 0u);
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.first_event, 1u);
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{2, 77}}));
  ASSERT_EQ(batch.samples.size(), 1u);
  EXPECT_EQ(batch.samples[0].event, 2u);
  ASSERT_EQ(batch.marks.size(), 1u);
  EXPECT_EQ(batch.marks[0].event, 2u);
  ASSERT_EQ(batch.steering.size(), 1u);
  EXPECT_EQ(batch.steering[0].event, 2u);
  ASSERT_EQ(batch.mapped.size(), 1u);
  EXPECT_EQ(batch.mapped[0].event, 2u);
  EXPECT_EQ(batch.thread_ends, (std::vector<ThreadEnd>{{2, 0}}));
}

TEST_F(InheritedHeapTest, HasItsStacks) {
  const auto parent = create("parent.tape", header(kParentStart, StackMode::kFramePointers));
  parent->encoder().set_has_stacks();
  const FrameNumber outer = parent->encoder().add_frame({0, 0x400100});
  const FrameNumber inner = parent->encoder().add_frame({outer, 0x400200});
  parent->encoder().add_mapping({0, {0x400000, 0x500000}, 0, "/parent", ""});
  parent->append(malloc_event(10, 0x5000), inner);
  EXPECT_TRUE(parent->finish({}).ok());
  const auto child = create("child.tape", header(kParentStart + 1, StackMode::kFramePointers));
  child->encoder().set_has_stacks();
  child->add_inheritance({.tape = "parent.tape", .start_unix_ns = kParentStart, .events = 1});
  const FrameNumber own_outer = child->encoder().add_frame({0, 0x400300});
  const FrameNumber own = child->encoder().add_frame({own_outer, 0x400400});
  child->append(malloc_event(20, 0x6000), own);
  child->append(malloc_event(20, 0x6100), 0);
  EXPECT_TRUE(child->finish({}).ok());
  TapeReader reader = open();
  const auto stacks = reader.read_stacks();
  ASSERT_TRUE(stacks.ok());
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  ASSERT_EQ(batch.stacks.size(), 1u);
  EXPECT_EQ(*stacks->find(batch.stacks[0]), (Frame{outer, 0x400200}));
  ASSERT_TRUE(reader.read(batch, 100).ok());
  ASSERT_EQ(batch.stacks.size(), 2u);
  const Frame frame = *stacks->find(batch.stacks[0]);
  EXPECT_EQ(frame.return_address, 0x400400u);
  EXPECT_EQ(*stacks->find(frame.caller), (Frame{0, 0x400300}));
  EXPECT_EQ(batch.stacks[1], 0u);
  ASSERT_EQ(stacks->mappings().size(), 1u);
  EXPECT_EQ(stacks->mappings()[0].path, "/parent");
}

TEST_F(InheritedHeapTest, IsFoundWhileTheParentIsRecorded) {
  write_parent("parent.tape.partial");
  write_child(from_parent());
  EXPECT_EQ(open().inherited_blocks(), 2u);
}

TEST_F(InheritedHeapTest, IsNotKnownWithoutTheParentsTape) {
  write_child(from_parent());
  expect_problem("its parent's tape, 'parent.tape', is not beside it");
}

TEST_F(InheritedHeapTest, IsNotThatOfAnotherTapeOfTheName) {
  write_parent();
  Inheritance inheritance = from_parent();
  ++inheritance.start_unix_ns;
  write_child(inheritance);
  expect_problem("is not beside it");
}

TEST_F(InheritedHeapTest, IsNotKnownIfTheParentsTapeEndsBeforeTheFork) {
  write_parent();
  Inheritance inheritance = from_parent();
  inheritance.events = 8;
  write_child(inheritance);
  expect_problem("ends before the fork");
  inheritance.events = UINT64_MAX;
  write_child(inheritance);
  expect_problem("ends before the fork");
}

TEST_F(InheritedHeapTest, IsNotKnownInFullIfTheParentsTapeBeganLate) {
  const auto parent = create("parent.tape", header(kParentStart));
  parent->append(malloc_event(10, 0x5000));
  TapeSummary summary;
  summary.late_ns = 1;
  EXPECT_TRUE(parent->finish(summary).ok());
  write_child({.tape = "parent.tape", .start_unix_ns = kParentStart, .events = 1});
  write_child({.tape = "child.tape", .start_unix_ns = kParentStart + 1, .events = 0},
              "grandchild.tape");
  for (const char* name : {"child.tape", "grandchild.tape"}) {
    const TapeReader reader = open(name);
    EXPECT_EQ(reader.inherited_blocks(), 1u);
    EXPECT_NE(reader.inherited_problem().find("'parent.tape', began late"), std::string::npos)
        << reader.inherited_problem();
  }
}

TEST_F(InheritedHeapTest, IsNotKnownIfTheForkIsNot) {
  write_child({});
  expect_problem("the fork is not on its parent's tape");
}

TEST_F(InheritedHeapTest, ComesFromNoOtherFolder) {
  write_parent();
  for (const char* name : {"./parent.tape", "..", "."}) {
    Inheritance inheritance = from_parent();
    inheritance.tape = name;
    write_child(inheritance);
    expect_problem("cannot be one");
  }
}

TEST_F(InheritedHeapTest, ComesFromNoDescendant) {
  Inheritance own{.tape = "child.tape", .start_unix_ns = kParentStart + 1, .events = 1};
  write_child(own);
  expect_problem("has too many ancestors");
}

// Each could lead to both.
TEST_F(InheritedHeapTest, IsSoughtInOneFileOfEachName) {
  const Inheritance own{.tape = "child.tape", .start_unix_ns = kParentStart, .events = 1};
  write_child(own);
  const auto partial = create("child.tape.partial", header(kParentStart));
  partial->append(malloc_event(10, 0x5000));
  partial->add_inheritance(own);
  EXPECT_TRUE(partial->finish({}).ok());
  expect_problem("has too many ancestors");
}

TEST_F(InheritedHeapTest, IsNotKnownIfTheParentsTapeWasRepaired) {
  const auto parent = create("parent.tape", header(kParentStart));
  for (uint64_t i = 0; i < 9; ++i) parent->append(malloc_event(10, 0x5000 + 16 * i));
  TapeSummary summary;
  summary.end_reason = EndReason::kRecovered;
  summary.losses.lost_events = 1;
  EXPECT_TRUE(parent->finish(summary).ok());
  write_child(from_parent());
  expect_problem("was repaired and lacks calls");
}

TEST_F(InheritedHeapTest, IsNotKnownIfTheParentsIsNot) {
  write_child(from_parent());
  write_child({.tape = "child.tape", .start_unix_ns = kParentStart + 1, .events = 1},
              "grandchild.tape");
  EXPECT_NE(open("grandchild.tape").inherited_problem().find("'parent.tape'"), std::string::npos);
}

TEST_F(InheritedHeapTest, MayBeCarried) {
  write_child({.tape = "", .blocks = 1});
  TapeReader reader = open();
  EXPECT_EQ(reader.inherited_blocks(), 1u);
  EXPECT_EQ(reader.joined_blocks(), 0u);
  EXPECT_EQ(reader.events(), 2u);
  write_child({.tape = "", .blocks = UINT64_MAX});
  EXPECT_EQ(open().inherited_blocks(), 2u) << "it has no more calls";
}

TEST_F(InheritedHeapTest, IsKnownOfATapeThatIsNotFinished) {
  write_parent();
  const auto tape = create("child.tape", header(kParentStart + 1));
  tape->append(free_event(0x7000));
  tape->save();
  tape->add_inheritance(from_parent());
  tape->append(malloc_event(60, 0xa000));
  tape->save();
  TapeReader reader = open("child.tape.partial");
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(read(reader), kJoined);
}

}  // namespace
}  // namespace heaptape::schema
