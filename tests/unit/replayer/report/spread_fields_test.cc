
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "replayer/report/run_fields.h"
#include "schema/report/report_figures.h"

namespace heaptape::replayer {
namespace {

using schema::RunFigures;

RunMetrics peak(uint64_t bytes, uint64_t at) {
  RunMetrics metrics;
  metrics.resident_bytes_peak = {bytes, at};
  return metrics;
}

RunFigures with_spreads(const std::vector<RunMetrics>& repeats) {
  capnp::MallocMessageBuilder message;
  const auto run = message.initRoot<schema::wire::Run>();
  set_spreads(run, repeats);
  return schema::figures_of(run.asReader());
}

TEST(SpreadFields, AreTheLeastAndTheGreatestOfTheRepeats) {
  const RunFigures run = with_spreads({peak(200, 1), peak(100, 1), peak(300, 1), peak(250, 1)});
  ASSERT_EQ(run.spreads.size(), 1u);
  const auto spread = run.spread("peak.residentBytes");
  ASSERT_TRUE(spread);
  EXPECT_EQ(spread->least, 100);
  EXPECT_EQ(spread->greatest, 300);
}

TEST(SpreadFields, AreNotOfPlaces) {
  const RunFigures run = with_spreads({peak(100, 1), peak(100, 2)});
  EXPECT_TRUE(run.spreads.empty()) << run.spreads.front().metric;
}

TEST(SpreadFields, AreNotOfWhatARepeatDoesNotHave) {
  RunMetrics first;
  first.counters = {{"visited", 1}};
  RunMetrics second;
  second.counters = {{"visited", 2}};
  EXPECT_TRUE(with_spreads({first, second}).spread("counters.visited"));
  EXPECT_FALSE(with_spreads({first, second, {}}).spread("counters.visited"));
}

TEST(SpreadFields, AreNoneOfOneReplay) {
  EXPECT_TRUE(with_spreads({peak(100, 1)}).spreads.empty());
}

}  // namespace
}  // namespace heaptape::replayer
