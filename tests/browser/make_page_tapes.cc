// Writes FOLDER/stacks.tape, the tape of stack_tapes.h with its symbols; FOLDER/sampled.tape, the
// same with the stacks of some calls; FOLDER/pinned.tape, the other one of stack_tapes.h;
// FOLDER/small.tape, of which one call is too small to be shown; FOLDER/holes.tape, with much free
// memory between live blocks; FOLDER/process.tape, with samples of its process; FOLDER/late.tape,
// which began later than its program; FOLDER/lossy.tape, of which a part is lost;
// FOLDER/facts.tape, whose header and summary have a value of its own for everything; and
// FOLDER/hostile.tape, whose every text wants to be markup: command, program, thread, functions,
// files.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "replayer/symbols/symbol_file.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/stack_tapes.h"
#include "tests/support/tapes.h"

namespace heaptape::tests {
namespace {

// Ends an element, a comment, an attribute and a string; has a line separator, what separates in
// files for other programs, and is not UTF-8.
const std::string kMarkup =
    "</script><script>hostile=1</script><!--\"'`><img src=x onerror=hostile=1>\u2028${1},;|\n\xff";

replayer::TapeIdentity identity_of(const schema::TapeHeader& header) {
  return {header.start_unix_ns, header.pid};
}

void write_sample_symbols(const std::string& path) {
  EXPECT_TRUE(
      replayer::write_symbols(path + ".symbols", sample_symbols(), identity_of(sample_header()))
          .ok());
}

void write_plain(const std::string& path) {
  write_stack_tape(path);
  write_sample_symbols(path);
}

void write_sampled(const std::string& path) {
  write_stack_tape(path, {schema::StackMode::kUnwindTables, 64, 2'048});
  write_sample_symbols(path);
}

void write_pinned(const std::string& path) {
  write_pinned_tape(path);
  write_sample_symbols(path);
}

// 4,000 blocks of lex, and one of read.
void write_small(const std::string& path) {
  const auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  add_sample_stacks(encoder);
  for (uint64_t i = 0; i < 4'000; ++i) encoder.append(malloc_event(100, 0x10000 + 0x100 * i), 2);
  encoder.append(malloc_event(7, 0x8000000), 4);
  encoder.add_mapping_call({.range = {0x9000000, 0x9004000}, .stack = 2});
  EXPECT_TRUE((*writer)->finish({}).ok());
  write_sample_symbols(path);
}

// A megabyte of lex between blocks of read, which stay.
void write_holes(const std::string& path) {
  const auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  add_sample_stacks(encoder);
  constexpr uint64_t kPairs = 100;
  for (uint64_t i = 0; i < kPairs; ++i) {
    encoder.append(malloc_event(10'000, 0x100000 + 0x4000 * i), 2);
    encoder.append(malloc_event(100, 0x103000 + 0x4000 * i), 4);
  }
  for (uint64_t i = 0; i < kPairs; ++i) encoder.append(free_event(0x100000 + 0x4000 * i), 0);
  for (uint64_t i = 0; i < 2 * kPairs; ++i) {  // a plateau
    encoder.append(malloc_event(24, 0x800000), 4);
    encoder.append(free_event(0x800000), 0);
  }
  EXPECT_TRUE((*writer)->finish({}).ok());
  write_sample_symbols(path);
}

// 12 calls were lost, two stretches are damaged, and other calls were not seen.
void write_lossy(const std::string& path) {
  schema::TapeSummary summary;
  summary.losses.lost_events = 12;
  summary.losses.lost_ranges = 2;
  summary.inner_allocators = {{"/bin/<b>", {"jemalloc"}}};
  Random random(5);
  write_tape(path, eventful_events(random, 300, 16, true), summary);
}

void write_facts(const std::string& path) {
  schema::TapeHeader header = sample_header();
  header.allocator = "/lib/liballocator.so";
  header.recorded_allocator = {"jemalloc", "5.3.0", "glibc 2.36"};
  header.settings = {"MALLOC_CONF=narenas:1"};
  header.stacks = {schema::StackMode::kFramePointers, 62, 6'100, {{48, 48}, {1'024, 4'096}}};
  schema::TapeSummary summary;
  summary.losses.lost_events = 101;
  summary.losses.unrepaired_inversions = 102;
  summary.losses.lost_ranges = 103;
  summary.losses.causes = {111, 112, 113, 114, 115, 116, 117};
  summary.repaired_inversions = 121;
  summary.unknown_frees = 122;
  summary.nested_calls = 123;
  summary.bootstrap_calls = 124;
  summary.stalls = 125;
  summary.stall_ns = 126;
  summary.duration_ns = 127'000'000;
  summary.end_reason = schema::EndReason::kSignalled;
  summary.end_status = 9;
  summary.thread_list = {{131, "first"}, {132, "second"}};
  summary.inner_allocators = {{"/bin/inner", {"mimalloc"}}};
  schema::ProcessParts parts = {143'000, 144'000, 145'000, 146'000, 147'000, 148'000};
  parts.owners = {{"libarrow", 149'000}, {"python3.11", 139'000}};
  const schema::ProcessSample sample{2, 141, 999'000, {{0x10000, 0x20000}}, parts};
  const auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  encoder.set_has_stacks();
  encoder.append(malloc_event(100, 0x10000), 0);
  encoder.append(malloc_event(200, 0x11000, 1), 0);
  (*writer)->add_sample(sample);
  encoder.append(realloc_event(0x10000, 300, 0x12000), 0);
  encoder.append(malloc_event(UINT64_MAX, 0), 0);
  encoder.append(free_event(0x11000), 0);
  encoder.append(free_event(0x12000), 0);
  summary.largest_sample = sample.without_regions();
  EXPECT_TRUE((*writer)->finish(summary).ok());
}

// A process that grows beside malloc.
void write_owned(const std::string& path) {
  constexpr uint64_t kMiB = 1 << 20;
  const auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok());
  for (uint64_t i = 1; i <= 4; ++i) {
    (*writer)->append(malloc_event(100 * i, 0x10000 * i));
    (*writer)->add_time(i * 1'000'000'000);
    schema::ProcessParts parts = {i * kMiB};
    parts.stack_bytes = kMiB;
    parts.owners = {{"python3.11", 2 * i * kMiB}, {"libarrow", 3 * kMiB}};
    if (i == 4) parts.owners.pop_back();
    (*writer)->add_sample({0, i * 1'000'000'000, 20 * kMiB, {}, parts});
  }
  schema::TapeSummary summary;
  summary.inner_allocators = {{"/usr/bin/python3.11", {"pymalloc"}}};
  EXPECT_TRUE((*writer)->finish(summary).ok());
}

// Of a trace that lacks nearly everything.
void write_imported(const std::string& path) {
  schema::TapeHeader header;
  header.writer = "heaptape test";
  header.origin = {"malloclab", static_cast<uint32_t>(schema::Absent::kThreads) |
                                    static_cast<uint32_t>(schema::Absent::kAddresses) |
                                    static_cast<uint32_t>(schema::Absent::kTimes)};
  Random random(6);
  write_tape(path, plausible_events(random, 300), {}, header);
}

void write_process(const std::string& path) {
  Random random(3);
  write_sampled_tape(path, eventful_events(random, 5000), random);
}

// Began when the heap had 64 KiB. A hole before the last block, another one beside unseen memory.
void write_late(const std::string& path) {
  const auto writer = schema::TapeWriter::create(path, sample_header());
  ASSERT_TRUE(writer.ok());
  const auto add_sample = [&writer](uint64_t time_ns) {
    (*writer)->add_sample({0, time_ns, 0x10000, {{0x100000, 0x110000}}, {0xf000}});
  };
  add_sample(1'000'000'000);
  for (uint64_t i = 0; i < 4; ++i) (*writer)->append(malloc_event(1000, 0x104010 + i * 1008));
  (*writer)->append(free_event(0x104010));
  (*writer)->append(free_event(0x104010 + 2 * 1008));
  (*writer)->append(free_event(0x101010));
  (*writer)->append(realloc_event(0x102010, 3000, 0x108010));
  add_sample(2'000'000'000);
  schema::TapeSummary summary;
  summary.duration_ns = 2'000'000'000;
  summary.late_ns = 900'000'000;
  summary.unknown_frees = 2;
  EXPECT_TRUE((*writer)->finish(summary).ok());
}

void write_hostile(const std::string& path) {
  schema::TapeHeader header = sample_header();
  header.command_line = {"./" + kMarkup, kMarkup};
  header.executable = "/" + kMarkup;
  const auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/opt/" + kMarkup, ""});
  encoder.add_frame({0, 0x400101});
  encoder.add_frame({1, 0x400201});
  encoder.append(malloc_event(100, 0x10000), 2);
  encoder.add_mark("hostile", 10);  // names of marks have no markup: others are not read
  encoder.append(malloc_event(100, 0x20000), 1);
  encoder.add_mapping_call({.range = {0x100000, 0x104000}, .stack = 2});
  schema::TapeSummary summary;
  summary.thread_list = {{1, "<b>hostile</b>"}};
  EXPECT_TRUE((*writer)->finish(summary).ok());
  const replayer::SourceFrame frame{kMarkup, "/src/" + kMarkup, 3};
  const replayer::Symbols symbols(
      {{}, {"/opt/" + kMarkup, 0x100, {frame}}, {"/opt/" + kMarkup, 0x200, {frame, frame}}},
      {0, 1, 2});
  EXPECT_TRUE(replayer::write_symbols(path + ".symbols", symbols, identity_of(header)).ok());
}

}  // namespace
}  // namespace heaptape::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_page_tapes FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  heaptape::tests::write_plain(folder + "/stacks.tape");
  heaptape::tests::write_sampled(folder + "/sampled.tape");
  heaptape::tests::write_pinned(folder + "/pinned.tape");
  heaptape::tests::write_small(folder + "/small.tape");
  heaptape::tests::write_holes(folder + "/holes.tape");
  heaptape::tests::write_process(folder + "/process.tape");
  heaptape::tests::write_lossy(folder + "/lossy.tape");
  heaptape::tests::write_facts(folder + "/facts.tape");
  heaptape::tests::write_owned(folder + "/owned.tape");
  heaptape::tests::write_late(folder + "/late.tape");
  heaptape::tests::write_imported(folder + "/imported.tape");
  heaptape::tests::write_hostile(folder + "/hostile.tape");
  return testing::Test::HasFailure() ? 1 : 0;
}
