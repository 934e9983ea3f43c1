#include "tests/support/stack_tapes.h"

#include <gtest/gtest.h>

#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::tests {
namespace {

using schema::Event;

constexpr uint64_t kA = 0x10000;
constexpr uint64_t kB = 0x20000;
constexpr uint64_t kC = 0x30000;
constexpr uint64_t kD = 0x40000;

}  // namespace

void add_sample_stacks(schema::TapeEncoder& encoder) {
  encoder.set_has_stacks();
  encoder.add_mapping({0, {0x400000, 0x410000}, 0, "/opt/app", "\x12\xab"});
  encoder.add_mapping({0, {0x700000, 0x710000}, 0, "/usr/lib/libstdc++.so.6", ""});
  encoder.add_frame({0, 0x400101});
  encoder.add_frame({1, 0x400201});
  encoder.add_frame({2, 0x700301});
  encoder.add_frame({1, 0x400401});
}

void write_stack_tape(const std::string& path, const schema::StackRecording& recording) {
  schema::TapeHeader header = sample_header();
  header.stacks = recording;
  auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  add_sample_stacks(encoder);
  encoder.append(malloc_event(100, kA), 3);
  encoder.append(malloc_event(50, kB), 4);
  encoder.append(malloc_event(7, kD), 4);
  encoder.append(realloc_event(kB, 300, kC), 2);
  encoder.append(free_event(kA, 1));
  encoder.append(malloc_event(10, kA), 0);
  encoder.append(free_event(kA));
  EXPECT_TRUE((*writer)->finish({}).ok());
}

void write_pinned_tape(const std::string& path, const schema::StackRecording& recording) {
  schema::TapeHeader header = sample_header();
  header.stacks = recording;
  auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  add_sample_stacks(encoder);
  const uint64_t guard = header.initial_break + 0x10;
  const uint64_t first = guard + 32;
  const uint64_t pin = first + 10'016;
  const uint64_t second = pin + 32;
  encoder.append(malloc_event(24, guard), 1);
  encoder.append(malloc_event(10'000, first), 2);
  encoder.append(malloc_event(24, pin), 4);
  encoder.append(free_event(first));
  encoder.append(malloc_event(20'000, second), 2);
  encoder.append(malloc_event(30'000, second + 20'016), 4);
  encoder.append(free_event(second));
  EXPECT_TRUE((*writer)->finish({}).ok());
}

void write_sessions_tape(const std::string& path) {
  schema::TapeHeader header = sample_header();
  header.stacks = {.mode = schema::StackMode::kFramePointers};
  header.recorded_allocator.family = "glibc";
  auto writer = schema::TapeWriter::create(path, header);
  ASSERT_TRUE(writer.ok());
  schema::TapeEncoder& encoder = (*writer)->encoder();
  add_sample_stacks(encoder);
  constexpr uint64_t kStep = 0x4000;
  constexpr uint64_t kSessions = 500;
  for (uint64_t i = 1; i <= kSessions; ++i) {
    encoder.append(malloc_event(8'000, i * kStep), 2);
    encoder.append(malloc_event(96, i * kStep + kStep / 2), 4);
  }
  for (uint64_t i = 1; i <= kSessions; ++i) encoder.append(free_event(i * kStep));
  for (uint64_t i = 0; i < 1'000; ++i) {
    encoder.append(malloc_event(16, kStep), 1);
    encoder.append(free_event(kStep));
  }
  EXPECT_TRUE((*writer)->finish({}).ok());
}

schema::Stacks sample_stacks() {
  const TempDir dir;
  write_stack_tape(dir.file("a.tape"));
  return *schema::TapeReader::open(dir.file("a.tape"))->read_stacks();
}

replayer::Symbols sample_symbols() {
  return {{{},
           {"/opt/app", 0x100, {{"main", "/src/app.cc", 10}}},
           {"/opt/app", 0x200, {{"lex", "/src/lex.h", 3}, {"parse(int)", "/src/app.cc", 20}}},
           {"/usr/lib/libstdc++.so.6", 0x300, {{"operator new(unsigned long)", "", 0}}},
           {"/opt/app", 0x400, {{"read", "/src/app.cc", 40}}}},
          {0, 1, 2, 3, 4}};
}

}  // namespace heaptape::tests
