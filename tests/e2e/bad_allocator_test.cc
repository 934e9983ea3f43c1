// Allocators that a replay cannot use: one sentence each. Arguments that make no sense end the
// command before anything runs, with exit code 2; a library that cannot be loaded is the failure of
// its run, with exit code 1. Those that fail in a replay: failing_allocator_test.cc.
#include <gtest/gtest.h>

#include "tests/support/programs.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

using tests::expect_refusal;
using tests::target_path;

class BadAllocator : public testing::Test {
 protected:
  BadAllocator() {
    tests::Random random(3);
    tests::write_tape(dir_.file("t"), tests::plausible_events(random, 1000));
  }
  tests::Ended replay(const std::vector<std::string>& specs) {
    std::vector<std::string> words = {"heaptape", "replay", dir_.file("t")};
    for (const std::string& spec : specs) words.insert(words.end(), {"-a", spec});
    return tests::run(words);
  }
  void expect_refused(const std::string& spec, const std::string& part) {
    SCOPED_TRACE(spec);
    expect_refusal(replay({spec}), part);
  }
  // The run fails before its first call, and another one comes to its end.
  void expect_failure(const std::string& spec, const std::string& part) {
    SCOPED_TRACE(spec);
    const auto ended = replay({"bad=" + spec, "noop"});
    EXPECT_EQ(ended.status, 1) << ended.describe();
    EXPECT_NE(ended.err.find("'bad' failed before the first call: "), std::string::npos)
        << ended.err;
    EXPECT_NE(ended.err.find(part), std::string::npos) << ended.err;
    EXPECT_NE(ended.out.find("\nnoop "), std::string::npos) << ended.out;
  }
  std::string library(const std::string& name, const std::string& bytes) {
    tests::write_bytes(dir_.file(name), bytes);
    return "lib:" + dir_.file(name);
  }

  tests::TempDir dir_;
};

TEST_F(BadAllocator, UnknownIsRefusedWithTheNamesOfThoseKnown) {
  expect_refused("dlmalloc",
                 "there is no allocator 'dlmalloc' (did you mean jemalloc, mimalloc or tcmalloc?); "
                 "choose one of recorded, noop, glibc, jemalloc");
}

TEST_F(BadAllocator, SpecThatMakesNoSenseIsRefused) {
  expect_refused("", "an allocator is missing");
  expect_refused("glibc tcache", "'tcache'");
  expect_refused("model:runs X=1", "runs no real code");
  expect_refused("glibc LD_PRELOAD=/none.so", "write lib:PATH");
}

TEST_F(BadAllocator, LabelTwiceIsRefused) {
  expect_refusal(replay({"glibc", "glibc X=1"}), "two allocators are named 'glibc'");
  expect_refusal(replay({"a=glibc", "a=jemalloc"}), "two allocators are named 'a'");
  EXPECT_EQ(replay({"a=glibc", "b=glibc"}).status, 0);
}

TEST_F(BadAllocator, LibraryThatIsNotThereIsAFailure) {
  expect_failure("lib:/none/libmine.so", "there is no file '/none/libmine.so'");
  expect_failure("lib:" + dir_.path().string(), "is a directory, not a shared library");
}

TEST_F(BadAllocator, FileThatIsNoLibraryIsAFailure) {
  expect_failure(library("text.so", std::string(2000, 'x')), "shared library (ELF)");
  expect_failure(library("empty.so", ""), "shared library (ELF)");
  const std::string bytes = tests::read_bytes(target_path("libreplay_bare_malloc.so"));
  expect_failure(library("cut.so", bytes.substr(0, bytes.size() / 3)), "was cut short");
  expect_refused(library("blank space.so", bytes), "blanks separate");
  expect_failure(library("colon:.so", bytes), "no path with a colon");
}

TEST_F(BadAllocator, LibraryWithoutMallocIsAFailure) {
  expect_failure("lib:" + target_path("libreplay_no_malloc.so"), "it exports no malloc");
  expect_failure("lib:" + target_path("libreplay_half_malloc.so"), "malloc but not free");
}

TEST_F(BadAllocator, LibraryThatTheLoaderRefusesIsAFailure) {
  expect_failure("lib:" + target_path("libreplay_unresolved_malloc.so"), "replay_found_nowhere");
}

TEST_F(BadAllocator, ThatAbortsIsNamedWithItsLastWords) {
  const auto ended =
      replay({"glibc", "lib:" + target_path("libreplay_aborting_malloc.so"), "noop"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("was killed by signal 6 (Aborted); it said: no more of this"),
            std::string::npos)
      << ended.err;
}

TEST_F(BadAllocator, ConfigurationThatTheAllocatorRefusesIsRepeated) {
  const auto ended = replay({"jemalloc MALLOC_CONF=nonsense:1,abort_conf:true"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.err.find("nonsense"), std::string::npos) << ended.err;
}

TEST_F(BadAllocator, MoreThanAReportHoldsAreRefused) {
  std::vector<std::string> specs;
  for (int i = 0; i < 1001; ++i) specs.push_back("r" + std::to_string(i) + "=recorded");
  expect_refusal(replay(specs), "at most 1,000 allocators");
}

}  // namespace
}  // namespace heaptape
