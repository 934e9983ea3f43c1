// What --live shows of processes in a session that nobody else uses.
#include "recorder/collector/live_gauge.h"

#include <gtest/gtest.h>

#include "base/address/pages.h"
#include "tests/support/command.h"
#include "tests/support/fake_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using tests::free_record;
using tests::malloc_record;
using tests::RingPen;

constexpr uint64_t kSecondNs = LiveGauge::kEveryNs;
constexpr uint64_t kFarFutureNs = uint64_t{1} << 62;
using tests::kNoPid;

class LiveGaugeTest : public testing::Test {
 protected:
  LiveGaugeTest() { table_.count_sizes(); }

  void join(uint32_t slot) {
    session_.join(slot, kNoPid + slot);
    table_.adopt_claims();
  }
  void drain() {
    table_.adopt_claims();
    for (const auto& [slot, process] : table_.processes()) {
      process->merge().drain(RingMerge::kEverything, base::monotonic_ns());
    }
  }
  LiveFigures read_at(uint64_t second) {
    drain();
    return gauge_.read(table_, second * kSecondNs);
  }

  tests::FakeSession session_;
  tests::TempDir dir_;
  std::unique_ptr<HandshakeServer> handshakes_ = std::move(*HandshakeServer::open());
  Backlog backlog_;
  ProcessTable table_{backlog_, session_.pools(), *handshakes_, dir_.file("run.tape")};
  LiveGauge gauge_{0};
};

TEST_F(LiveGaugeTest, IsDueOnceASecond) {
  EXPECT_FALSE(gauge_.is_due(kSecondNs - 1));
  EXPECT_TRUE(gauge_.is_due(kSecondNs));
  read_at(1);
  EXPECT_FALSE(gauge_.is_due(2 * kSecondNs - 1));
}

TEST_F(LiveGaugeTest, AddsUpProcesses) {
  join(0);
  join(1);
  RingPen(session_, 0, 0).write(malloc_record(0x1000, 0, 100)).write(malloc_record(0x2000, 0, 50));
  RingPen(session_, 1, 1).write(malloc_record(0x1000, 0, 7));
  const LiveFigures figures = read_at(1);
  EXPECT_EQ(figures.processes, 2u);
  EXPECT_EQ(figures.live_bytes, 157u);
  EXPECT_EQ(figures.live_blocks, 3u);
  EXPECT_EQ(figures.calls, 3u);
}

TEST_F(LiveGaugeTest, CountsCallsPerSecondSinceTheLastTime) {
  join(0);
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000));
  EXPECT_EQ(read_at(1).calls_per_second, 1);
  for (int i = 0; i < 3; ++i) pen.write(malloc_record(0x2000)).write(free_record(0x2000));
  EXPECT_EQ(read_at(3).calls_per_second, 3);
}

TEST_F(LiveGaugeTest, NamesTheBandThatGrewMost) {
  join(0);
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000, 0, 100)).write(malloc_record(0x2000, 0, 3000));
  const auto growth = read_at(1).growth;
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->from, 2049u);
  EXPECT_EQ(growth->to, 4096u);
  EXPECT_EQ(growth->bytes, 3000u);
  EXPECT_EQ(growth->over_ns, kSecondNs);
}

TEST_F(LiveGaugeTest, ForgetsWhatGrewMoreThanAMinuteAgo) {
  join(0);
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000, 0, 3000));
  read_at(1);
  pen.write(malloc_record(0x3000, 0, 100));
  EXPECT_EQ(read_at(60).growth->bytes, 3000u);
  const auto growth = read_at(61).growth;
  ASSERT_TRUE(growth);
  EXPECT_EQ(growth->bytes, 100u);
  EXPECT_EQ(growth->over_ns, 60 * kSecondNs);
}

TEST_F(LiveGaugeTest, HasNoGrowthOfWhatShrank) {
  join(0);
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000, 0, 3000)).write(free_record(0x1000));
  EXPECT_FALSE(read_at(1).growth);
}

TEST_F(LiveGaugeTest, KeepsTheTotalsOfProcessesThatEnded) {
  join(0);
  RingPen(session_, 0).write(malloc_record(0x1000, 0, 100)).header().lost_full = 5;
  read_at(1);
  table_.end(0, schema::EndReason::kExited, 0);
  const LiveFigures figures = read_at(2);
  EXPECT_EQ(figures.processes, 0u);
  EXPECT_EQ(figures.ended_processes, 1u);
  EXPECT_EQ(figures.live_blocks, 0u);
  EXPECT_EQ(figures.calls, 1u);
  EXPECT_EQ(figures.lost, 5u);
}

TEST_F(LiveGaugeTest, HasTheWholeTapesInTheLastFigures) {
  join(0);
  RingPen(session_, 0).write(malloc_record(0x1000, 0, 100));
  const LiveFigures before = read_at(1);
  table_.end(0, schema::EndReason::kExited, 0);
  table_.wait_for_tapes();
  const LiveFigures last = gauge_.complete(before, table_);
  EXPECT_TRUE(last.is_last);
  EXPECT_EQ(last.live_bytes, 100u);
  EXPECT_EQ(last.tape_calls, 1u);
  EXPECT_EQ(last.tape_bytes, table_.manifest()[0].bytes);
}

TEST_F(LiveGaugeTest, CountsLossesAndStallsOnceInTheLastFigures) {
  join(0);
  RingPen pen(session_, 0);
  pen.write(malloc_record(0x1000, 0, 100)).header().lost_full = 5;
  pen.header().stalls = 2;
  pen.header().stall_ns = 700;
  const LiveFigures before = read_at(1);
  EXPECT_EQ(before.stall_ns, 700u);
  table_.end(0, schema::EndReason::kExited, 0);
  const LiveFigures last = gauge_.complete(before, table_);
  EXPECT_EQ(last.lost, 5u);
  EXPECT_EQ(last.stalls, 2u);
  EXPECT_EQ(last.stall_ns, 700u);
}

TEST_F(LiveGaugeTest, AddsUpWhatIsResident) {
  join(0);
  join(1);
  EXPECT_FALSE(read_at(1).resident_bytes);
  const auto status_by_pid = [](uint32_t pid, WithPages) {
    return ProcTexts{pid == kNoPid ? "Name:\tx\nRssAnon:\t   80 kB\n"
                                   : "Name:\ty\nRssAnon:\t   20 kB\nVmSwap:\t   8 kB\n",
                     ""};
  };
  const auto sample = [&](uint64_t now_ns) {
    ProcReader reader(status_by_pid);
    for (const auto& [slot, process] : table_.processes()) {
      process->sample_if_due(now_ns, 2, reader);
    }
    const auto last =
        reader.ask({kNoPid, WithPages::kNo});  // those before it have been answered, too
    EXPECT_TRUE(tests::wait_until([&last] { return last->done.load(); }));
  };
  for (const uint64_t now_ns : {uint64_t{1}, kFarFutureNs, kFarFutureNs}) sample(now_ns);
  EXPECT_EQ(read_at(2).resident_bytes, uint64_t{108} << 10);
}

}  // namespace
}  // namespace heaptape::recorder
