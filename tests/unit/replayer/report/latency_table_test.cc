#include "replayer/report/latency_table.h"

#include <gtest/gtest.h>

namespace heaptape::replayer {
namespace {

TEST(LatencyTable, HasTheSlowestCallOfAllRepeats) {
  RunResult run{*allocators::parse_spec("glibc")};
  LatencyRange latency;
  latency.middle.max_ns = 200;
  latency.middle.max_event = 61;
  latency.greatest.max_ns = 300;
  latency.greatest.max_event = 122;
  run.metrics.latencies.push_back(latency);
  const std::string table = latency_table({run});
  EXPECT_NE(table.find(" 300  #122"), std::string::npos) << table;
}

TEST(LatencyTable, HasLabelsThatAreFitToPrint) {
  RunResult run{*allocators::parse_spec("a\u202ez=glibc")};
  run.metrics.latencies.emplace_back();
  EXPECT_NE(latency_table({run}).find("a\uFFFDz"), std::string::npos);
}

TEST(LatencyTable, IsNothingWhereNothingWasTimed) {
  EXPECT_EQ(latency_table({RunResult{*allocators::parse_spec("recorded")}}), "");
}

}  // namespace
}  // namespace heaptape::replayer
