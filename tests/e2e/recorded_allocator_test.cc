// Compares the allocator on a tape with what the library's own functions say.
#include <gnu/libc-version.h>

#include <filesystem>
#include <string>

#include "tests/e2e/minimal_root.h"
#include "tests/e2e/record_fixture.h"
#include "tests/support/programs.h"

namespace heaptape::tests {
namespace {

namespace fs = std::filesystem;

struct Library {
  const char* family;
  const char* file;  // in LD_PRELOAD; empty: none

  friend void PrintTo(const Library& library, std::ostream* out) { *out << library.family; }
};

// "jemalloc 5.3.0" of "jemalloc 5.3.0-0-g54ea...", "mimalloc 2.0.9" of "mimalloc 209" and "mimalloc
// 3.6.1" of "mimalloc 30601".
std::string as_on_tapes(std::string said) {
  while (said.ends_with('\n')) said.pop_back();
  if (said.starts_with("jemalloc")) return said.substr(0, said.find('-'));
  if (said.starts_with("gperftools ")) return "tcmalloc" + said.substr(said.find(' '));
  const std::string mimalloc = "mimalloc ";
  if (!said.starts_with(mimalloc)) return said;
  const int number = std::stoi(said.substr(mimalloc.size()));
  const int base = number < 1000 ? 10 : 100;
  return mimalloc + std::to_string(number / base / base) + "." +
         std::to_string(number / base % base) + "." + std::to_string(number % base);
}

std::string libc_name() {
  return std::string("glibc ") + gnu_get_libc_version();
}

class RecordedAllocator : public RecordTest, public testing::WithParamInterface<Library> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  }
  // Records the program that asks its library, and returns what that said.
  std::string record_on(const std::string& library, const std::string& program = "say_allocator") {
    const Ended ended = record(
        CommandLine{.words = {target_path(program)}, .environment = {"LD_PRELOAD=" + library}});
    EXPECT_EQ(ended.status, 0) << ended.describe();
    return as_on_tapes(ended.out);
  }
  std::string info(const Words& options = {}) const {
    Words words = {heaptape_path(), "info", tape_path()};
    words.insert(words.end(), options.begin(), options.end());
    return run_command(words).out;
  }
};

TEST_P(RecordedAllocator, IsOnTheTapeAsItsLibrarySays) {
  const std::string said = record_on(GetParam().file);
  ASSERT_TRUE(said.starts_with(GetParam().family)) << said;
  const Tape tape = read_tape();
  EXPECT_EQ(schema::name_of(tape.header.recorded_allocator), said);
  EXPECT_EQ(tape.header.recorded_allocator.libc, libc_name());
  EXPECT_TRUE(verifies());
}

TEST_P(RecordedAllocator, IsWhatInfoSays) {
  const std::string said = record_on(GetParam().file);
  EXPECT_NE(info().find(" (" + said + ")\nlibc       " + libc_name() + "\n"), std::string::npos)
      << info();
  const std::string json = info({"--json"});
  const std::string family = GetParam().family;
  EXPECT_NE(json.find("\"allocatorFamily\": \"" + family + "\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"allocatorVersion\": \"" + said.substr(family.size() + 1) + "\""),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"libc\": \"" + libc_name() + "\""), std::string::npos) << json;
}

INSTANTIATE_TEST_SUITE_P(Libraries, RecordedAllocator,
                         testing::Values(Library{"glibc", ""},
                                         Library{"jemalloc", "libjemalloc.so.2"},
                                         Library{"mimalloc", mimalloc_library()},
                                         Library{"tcmalloc", "libtcmalloc_minimal.so.4"}),
                         testing::PrintToStringParamName());

class OddlyRecordedAllocator : public RecordedAllocator {
 protected:
  // A copy of the library that serves malloc with this in LD_PRELOAD.
  std::string copy_of(const std::string& library) {
    record_on(library);
    std::string copy = dir_.file("je.so");
    fs::copy_file(read_tape().header.allocator, copy, fs::copy_options::overwrite_existing);
    return copy;
  }
};

TEST_P(OddlyRecordedAllocator, IsKnownUnderAnyName) {
  const std::string copy = copy_of(GetParam().file);
  EXPECT_EQ(schema::name_of(read_tape().header.recorded_allocator), record_on(copy));
  const Tape tape = read_tape();
  EXPECT_EQ(tape.header.allocator, copy);
  EXPECT_EQ(tape.header.recorded_allocator.family, GetParam().family);
}

INSTANTIATE_TEST_SUITE_P(Copies, OddlyRecordedAllocator,
                         testing::Values(Library{"jemalloc", "libjemalloc.so.2"},
                                         Library{"mimalloc", mimalloc_library()}),
                         testing::PrintToStringParamName());

class RecordedProcesses : public RecordTest {};

TEST_F(RecordedProcesses, OfAForkHaveTheAllocatorOfTheirParent) {
  if (kSanitized) GTEST_SKIP() << "LD_PRELOAD does not work with a sanitized heaptape";
  const Ended ended = record(CommandLine{.words = {target_path("processes"), "fork"},
                                         .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  ASSERT_EQ(ended.timed_out, false) << ended.describe();
  const std::vector<Tape> tapes = read_tapes();
  ASSERT_GE(tapes.size(), 2u);
  for (const Tape& tape : tapes) {
    EXPECT_EQ(tape.header.recorded_allocator.family, "jemalloc");
    EXPECT_EQ(tape.header.recorded_allocator, tapes[0].header.recorded_allocator);
  }
}

TEST_F(RecordedProcesses, OfMuslAreOnMusl) {
  const std::string program = target_path("tell_environment_musl");
  if (!fs::exists(program)) GTEST_SKIP() << "musl is not installed";
  ASSERT_EQ(record({program}).status, 0);
  EXPECT_EQ(read_tape().header.recorded_allocator, (schema::RecordedAllocator{"musl", "", "musl"}));
}

// The library lies in another root than the recorder's, under a path that the recorder lacks.
TEST_F(RecordedProcesses, InAContainerHaveTheLibraryOfThatContainer) {
  if (kSanitized) GTEST_SKIP() << "a sanitized heaptape needs more than a minimal root";
  if (const std::string reason = no_namespaces(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string program = target_path("say_allocator");
  record(CommandLine{.words = {program}, .environment = {"LD_PRELOAD=libjemalloc.so.2"}});
  const schema::TapeHeader outside = read_tape().header;
  const MinimalRoot root(MinimalRoot::Heaptape::kNo, {"/bin/sh", program, outside.allocator});
  const std::string preload = root.outer(preload_path());
  fs::create_directories(fs::path(preload).parent_path());
  fs::copy_file(preload_path(), preload);
  const std::string library = "/bin/" + fs::path(outside.allocator).filename().string();
  const std::string script = "LD_PRELOAD=$LD_PRELOAD:" + library + " exec /bin/say_allocator";
  const Ended ended =
      record({.words = in_namespaces("exec chroot " + root.path() + " /bin/sh -c '" + script + "'"),
              .time_limit_seconds = 40});
  ASSERT_TRUE(ended.out.starts_with("jemalloc")) << ended.describe();
  const schema::TapeHeader inside = tape_that_asks_for(301).header;
  EXPECT_EQ(inside.allocator, library);
  EXPECT_EQ(inside.recorded_allocator, outside.recorded_allocator);
}

}  // namespace
}  // namespace heaptape::tests
