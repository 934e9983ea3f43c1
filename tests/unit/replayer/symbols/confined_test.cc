#include "replayer/symbols/confined.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>

namespace heaptape::replayer {
namespace {

using Words = std::vector<uint64_t>;

constexpr Confinement kRoomy = {uint64_t{1} << 30, 60};

std::string ending_of(const Confinement& limits, const std::function<Words()>& work) {
  const base::Result<Words> result = run_confined(limits, work);
  return result ? "none" : result.error().message;
}

TEST(Confined, ReturnsTheWords) {
  EXPECT_EQ(*run_confined(kRoomy, [] { return Words{1, 2, 3}; }), (Words{1, 2, 3}));
}

TEST(Confined, ReturnsNoWords) {
  EXPECT_TRUE(run_confined(kRoomy, [] { return Words(); })->empty());
}

TEST(Confined, SaysThatTheWorkCrashed) {
  EXPECT_EQ(ending_of(kRoomy, []() -> Words { return raise(SIGSEGV), Words(); }),
            "it crashed (Segmentation fault)");
}

TEST(Confined, SaysThatTheWorkThrew) {
  EXPECT_EQ(ending_of(kRoomy, []() -> Words { throw std::runtime_error("no"); }),
            "it crashed (Aborted)");
}

TEST(Confined, SaysThatTheWorkCalledExit) {
  EXPECT_EQ(ending_of(kRoomy, []() -> Words { _exit(3); }), "it failed");
}

TEST(Confined, EndsWorkThatTakesTooLong) {
  EXPECT_EQ(ending_of({uint64_t{1} << 30, 1},
                      []() -> Words {
                        for (;;) pause();
                      }),
            "it takes more than 1 seconds");
}

TEST(Confined, GivesWorkNoMoreMemory) {
  const auto map = [](size_t bytes) {
    const void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return Words{memory != MAP_FAILED};
  };
  const Confinement limits = {uint64_t{64} << 20, 60};
  EXPECT_EQ(*run_confined(limits, [&] { return map(size_t{32} << 20); }), Words{1});
  EXPECT_EQ(*run_confined(limits, [&] { return map(size_t{128} << 20); }), Words{0});
}

TEST(Confined, SaysThatTheWorkRanOutOfMemory) {
  EXPECT_EQ(ending_of({uint64_t{64} << 20, 60}, []() -> Words { throw std::bad_alloc(); }),
            "it takes more than 64 MiB of memory");
}

TEST(Confined, PrintsNothing) {
  testing::internal::CaptureStdout();
  ASSERT_TRUE(run_confined(kRoomy, [] {
    std::puts("heard");
    std::fflush(stdout);
    return Words();
  }));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace heaptape::replayer
