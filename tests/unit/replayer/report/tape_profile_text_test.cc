#include "replayer/report/tape_profile_text.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/support/tapes.h"

namespace heaptape::replayer {
namespace {

using schema::Event;
using tests::free_event;
using tests::malloc_event;
using tests::realloc_event;

constexpr uint64_t kA = 0x10000;
constexpr uint64_t kB = 0x20000;
constexpr uint64_t kC = 0x30000;

class ProfileText : public testing::Test {
 protected:
  // A call takes a microsecond, if `timed`.
  void take(const std::vector<Event>& events, bool timed = true) {
    ResolvedBatch resolved;
    schema::EventBatch batch;
    batch.events = events;
    if (timed) batch.times = {{events.size(), 1000 * events.size()}};
    counts_.emplace(events.size());
    EXPECT_TRUE(counts_->resolver.resolve(events, 0, resolved).ok());
    counts_->resolver.finish();
    counts_->profile.add(batch, 0, resolved.ops);
  }
  void take_example(bool timed = true) {
    take({malloc_event(24, kA), free_event(kA), malloc_event(100, kB), realloc_event(kB, 300, kC),
          realloc_event(kC, 500, kA), malloc_event(24, kB, 1), free_event(kA, 1)},
         timed);
  }
  std::string text() { return profile_text(*counts_); }

  std::optional<TapeCounts> counts_;
};

TEST_F(ProfileText, SaysWhichSizesAndLifetimesDominate) {
  take_example();
  EXPECT_EQ(text(), R"(
size in bytes  calls         bytes         live at end    over-represented
500                1  20.0%  500 B  52.7%            0  in calls and bytes
24                 2  40.0%   48 B   5.1%            1  in calls and bytes
300                1  20.0%  300 B  31.6%            0  in calls and bytes
100                1  20.0%  100 B  10.5%            0  in calls and bytes

lifetime of blocks               calls         time
25% live at most                     0     999.0 ns
50% live at most (median)            3      4.00 us
75% live at most           never freed  never freed
90% live at most           never freed  never freed
99% live at most           never freed  never freed

lifetimes by share                    blocks
freed by the next call (temporaries)       1  33.3%
lived under 0.01% of the run's calls       1  33.3%
lived under 10% of the run's calls         1  33.3%
freed by another thread                    1  33.3%
never freed (survivors)                    1  33.3%  24 B

resizes                    count          bytes copied
in place                       0    0.0%
moved                          2  100.0%         400 B
growths in 1 growth chain      2  100.0%         400 B

block born  thread   from     to  growths  bytes copied
#3              t0  100 B  500 B        2         400 B
)");
}

TEST_F(ProfileText, HasNoTimesOfATapeWithoutThem) {
  take_example(false);
  EXPECT_NE(text().find("\nlifetime of blocks               calls\n"), std::string::npos);
}

TEST_F(ProfileText, IsEmptyWhereNothingWasAllocated) {
  take({free_event(0)});
  EXPECT_EQ(text(), "");
}

TEST_F(ProfileText, LeavesOutResizesWhereThereWereNone) {
  take({malloc_event(24, kA)});
  EXPECT_EQ(text().find("resizes"), std::string::npos);
}

TEST_F(ProfileText, LeavesOutOtherThreadsWhereNoneFrees) {
  take({malloc_event(24, kA, 1), free_event(kA, 1)});
  EXPECT_EQ(text().find("another thread"), std::string::npos);
}

TEST_F(ProfileText, CountsTheSizesThatItLeavesOut) {
  std::vector<Event> events;
  for (uint64_t i = 1; i <= 11; ++i) events.push_back(malloc_event(i * 100, i * 0x1000));
  take(events);
  EXPECT_NE(text().find("\n... and 3 more: --by size lists all\n"), std::string::npos) << text();
}

TEST_F(ProfileText, ShowsThatSomethingIsThereHoweverLittle) {
  take({malloc_event(1, kA), malloc_event(100'000, kB)});
  EXPECT_NE(text().find("1 B   <0.1%"), std::string::npos) << text();
}

TEST_F(ProfileText, HasAllSizesAscending) {
  take({malloc_event(1 << 30, kA), malloc_event(20, kB), malloc_event(25, kC)});
  EXPECT_EQ(sizes_table(counts_->profile.sizes()),
            "size in bytes  calls            bytes          live at end    over-represented\n"
            "17 to 32           2  66.7%      45 B   <0.1%            2            in calls\n"
            "1,073,741,824      1  33.3%  1.00 GiB  100.0%            1  in calls and bytes\n");
}

TEST_F(ProfileText, HasAllThreadsByNumberAndName) {
  take_example();
  const std::string table = threads_table(counts_->profile.threads(), {{42, "main"}});
  for (const char* row :
       {"\nt0 main      5            924 B            0         0 B              0  ",
        "\nt1           2             24 B            1        24 B              1  "}) {
    EXPECT_NE(table.find(row), std::string::npos) << table;
  }
}

TEST_F(ProfileText, HasBucketsAndCdfAsCsv) {
  take_example();
  EXPECT_EQ(profile_csv(*counts_), R"(what,from,to,count,bytes,cumulativeShare
size,17,32,2,48,0.4
size,97,112,1,100,0.6
size,289,304,1,300,0.8
size,497,512,1,500,1
lifetimeCalls,0,0,1,,0.333333333
lifetimeCalls,3,3,1,,0.666666667
lifetimeNs,992,1007,1,,0.333333333
lifetimeNs,3968,4031,1,,0.666666667
)");
}

TEST_F(ProfileText, HasNoTimesAsCsvOfATapeWithoutThem) {
  take_example(false);
  EXPECT_EQ(profile_csv(*counts_).find("lifetimeNs"), std::string::npos);
}

}  // namespace
}  // namespace heaptape::replayer
