#include <gtest/gtest.h>

#include "replayer/diff/gate.h"

namespace heaptape::replayer {
namespace {

class GateParserTest : public testing::Test {
 protected:
  static Gate parse(const std::string& expression, GateGrammar grammar = GateGrammar::kDiff) {
    const auto gate = parse_gate(expression, grammar);
    EXPECT_TRUE(gate.ok()) << gate.error().message;
    return gate.ok() ? *gate : Gate{};
  }
  static double value_of(const std::string& value) {
    return static_cast<double>(parse("peak.liveBytes > " + value).value);
  }
  static Gate parse_of_sweep(const std::string& expression) {
    return parse(expression, GateGrammar::kSweep);
  }
  static std::string error_of(const std::string& expression,
                              GateGrammar grammar = GateGrammar::kDiff) {
    const auto gate = parse_gate(expression, grammar);
    EXPECT_FALSE(gate.ok());
    if (gate.ok()) return "";
    EXPECT_EQ(gate.error().code, base::ErrorCode::kUsage);
    EXPECT_EQ(gate.error().message.find('\n'), std::string::npos);
    return gate.error().message;
  }
  static void expect_error(const std::string& expression, const std::string& part) {
    const std::string message = error_of(expression);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  static void expect_sweep_error(const std::string& expression, const std::string& part) {
    const std::string message = error_of(expression, GateGrammar::kSweep);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
};

TEST_F(GateParserTest, ReadsEachOperator) {
  EXPECT_EQ(parse("end.liveCount>1").op, GateOp::kGreater);
  EXPECT_EQ(parse("end.liveCount>=1").op, GateOp::kGreaterOrEqual);
  EXPECT_EQ(parse("end.liveCount<1").op, GateOp::kLess);
  EXPECT_EQ(parse("end.liveCount<=1").op, GateOp::kLessOrEqual);
  EXPECT_EQ(parse("end.liveCount==1").op, GateOp::kEqual);
  EXPECT_EQ(parse("end.liveCount!=1").op, GateOp::kNotEqual);
}

TEST_F(GateParserTest, ReadsEachBinaryUnit) {
  EXPECT_EQ(value_of("3B"), 3);
  EXPECT_EQ(value_of("3KiB"), 3072);
  EXPECT_EQ(value_of("64MiB"), 67108864);
  EXPECT_EQ(value_of("1.5GiB"), 1610612736);
  EXPECT_EQ(value_of("2TiB"), 2199023255552);
}

TEST_F(GateParserTest, ReadsEachDecimalUnit) {
  EXPECT_EQ(value_of("3KB"), 3e3);
  EXPECT_EQ(value_of("3kB"), 3e3);
  EXPECT_EQ(value_of("3MB"), 3e6);
  EXPECT_EQ(value_of("3GB"), 3e9);
  EXPECT_EQ(value_of("3TB"), 3e12);
  EXPECT_EQ(value_of("3k"), 3e3);
  EXPECT_EQ(value_of("3M"), 3e6);
  EXPECT_EQ(value_of("3G"), 3e9);
}

TEST_F(GateParserTest, ReadsEachUnitOfTime) {
  const auto nanoseconds = [](const std::string& value) {
    return parse("latency.malloc.p99Ns > " + value).value;
  };
  EXPECT_EQ(nanoseconds("3ns"), 3);
  EXPECT_EQ(nanoseconds("+1.5us"), 1500);
  EXPECT_EQ(nanoseconds("2 ms"), 2e6);
  EXPECT_EQ(nanoseconds("1s"), 1e9);
  EXPECT_EQ(nanoseconds("3k"), 3000);
}

TEST_F(GateParserTest, ReadsEachWayToWriteANumber) {
  EXPECT_EQ(value_of("1000"), 1000);
  EXPECT_EQ(parse("end.fragmentation>0.25").value, 0.25);
  EXPECT_EQ(parse("end.fragmentation>.5").value, 0.5);
  EXPECT_EQ(value_of("1e6"), 1e6);
}

TEST_F(GateParserTest, KeepsEvery64BitInteger) {
  EXPECT_EQ(parse("end.liveBytes>18446744073709551615").value, 18446744073709551615.0L);
}

TEST_F(GateParserTest, TakesASignForAChange) {
  EXPECT_EQ(parse("end.liveBytes>64").kind, GateKind::kAbsolute);
  EXPECT_EQ(parse("end.liveBytes>+64MiB").kind, GateKind::kChange);
  EXPECT_EQ(parse("end.liveBytes<-100").value, -100);
}

TEST_F(GateParserTest, ReadsAPercentage) {
  const Gate gate = parse("peak.committedBytes<-2.5%");
  EXPECT_EQ(gate.kind, GateKind::kPercent);
  EXPECT_EQ(gate.value, -2.5L);
}

TEST_F(GateParserTest, ReadsWhatIsAddedToAPercentage) {
  const Gate gate = parse("peak.residentBytes > +5% +1.5MiB");
  EXPECT_EQ(gate.kind, GateKind::kPercent);
  EXPECT_EQ(gate.value, 5.0L);
  EXPECT_EQ(gate.extra, 1.5L * 0x1p20L);
  EXPECT_EQ(gate.expression, "peak.residentBytes > +5% +1.5MiB");
  EXPECT_EQ(parse("end.liveCount<-1%-16").extra, -16.0L);
  EXPECT_EQ(parse("time.nsPerEvent>+5%+2us").extra, 2000.0L);
  EXPECT_EQ(parse("end.liveCount>+1%").extra, 0.0L);
}

TEST_F(GateParserTest, RefusesWhatCannotBeAddedToAPercentage) {
  expect_error("peak.liveBytes > +5% 1MiB", "column 22: expected nothing more, or what is added");
  expect_error("peak.liveBytes > +5% -1MiB", "column 22: expected the sign of the percentage, +");
  expect_error("peak.liveBytes < -5% +1MiB", "column 22: expected the sign of the percentage, -");
  expect_error("peak.liveBytes > +5% +", "column 23: expected a number");
  expect_error("peak.liveBytes > +5% +1%", "column 24: expected % or one of the units");
  expect_error("peak.liveBytes > +5% +1MiB +1", "column 28: expected nothing more");
  expect_error("peak.liveBytes > +5% +0.5", "expected a whole number of bytes");
  expect_error("peak.liveBytes > +1MiB +5%", "column 24: expected nothing more");
}

TEST_F(GateParserTest, AllowsBlanksAroundEachPart) {
  const Gate gate = parse("  peak.committedBytes\t>=  + 5 %  ");
  EXPECT_EQ(gate.metric, "peak.committedBytes");
  EXPECT_EQ(gate.op, GateOp::kGreaterOrEqual);
  EXPECT_EQ(gate.expression, "peak.committedBytes\t>=  + 5 %");
}

TEST_F(GateParserTest, TakesAnyCounter) {
  EXPECT_EQ(parse("counters.list-nodes/visited > +5%").metric, "counters.list-nodes/visited");
  EXPECT_EQ(parse("counters.zeroed > 5MiB").value, 5 * 0x1p20L);
}

TEST_F(GateParserTest, TakesTheMemoryOfAnyOwner) {
  const Gate gate = parse("atMark.v1.2.process.besideMalloc.libstdc++.so-6.bytes>+10%+1MiB");
  EXPECT_EQ(gate.metric, "atMark.v1.2.process.besideMalloc.libstdc++.so-6.bytes");
  EXPECT_EQ(gate.value, 10.0L);
  EXPECT_EQ(gate.extra, 0x1p20L);
  expect_error("libarrow.bytes>5", "atPeak.process.besideMalloc.OWNER.bytes");
}

TEST_F(GateParserTest, RefusesAPartOfAByte) {
  expect_error("peak.liveBytes > 0.25", "expected a whole number of bytes, or a unit");
  expect_error("peak.liveBytes > +0.5", "expected a whole number of bytes, or a unit");
  EXPECT_EQ(parse("peak.liveBytes > 1.5KiB").value, 1536);
  EXPECT_EQ(parse("peak.liveBytes > +0.5%").kind, GateKind::kPercent);
}

TEST_F(GateParserTest, QuotesTheExpressionInItsErrors) {
  expect_error("peak.liveBytes", "cannot read the gate 'peak.liveBytes'");
}

TEST_F(GateParserTest, SaysHowToQuoteAGateThatTheShellCut) {
  expect_error("peak.liveBytes", "quote the whole gate: --fail-if 'peak.liveBytes > +5%'");
  EXPECT_EQ(error_of("peak.liveBytes ~ 5").find("quote"), std::string::npos);
}

TEST_F(GateParserTest, SuggestsTheMetricThatWasMeant) {
  expect_error("peak.comittedBytes>+5%",
               "column 1: there is no metric 'peak.comittedBytes' (did you mean "
               "peak.committedBytes");
}

TEST_F(GateParserTest, ListsTheGroupsOfMetricsAfterTheSuggestions) {
  const std::string message = error_of("committedBytes>5");
  EXPECT_LT(message.find("end.committedBytes"), message.find("; the metrics are: "));
  for (const std::string& name : schema::metric_names()) {
    const std::string group = name.substr(0, name.find('.')) + ".*";
    EXPECT_NE(message.find(group), std::string::npos) << group;
  }
}

TEST_F(GateParserTest, SuggestsNothingForAWordFarFromAll) {
  EXPECT_EQ(error_of("colour>5").find("did you mean"), std::string::npos);
}

TEST_F(GateParserTest, CountsColumnsFromOneBlanksIncluded) {
  expect_error("  colour > 5", "column 3: ");
  expect_error("peak.liveBytes  ~ 5", "column 17: expected one of > >= < <= == !=");
}

TEST_F(GateParserTest, SaysWhereAMetricIsMissing) {
  expect_error("", "column 1: expected a metric");
  expect_error(" > 5", "column 2: expected a metric");
  expect_error("counters. > 5", "column 1: there is no metric 'counters.'");
}

TEST_F(GateParserTest, SaysWhereAnOperatorIsMissing) {
  expect_error("peak.liveBytes", "column 15: expected one of > >= < <= == !=");
  expect_error("peak.liveBytes = 5", "column 16: expected one of > >= < <= == !=");
}

TEST_F(GateParserTest, SaysWhereANumberIsMissing) {
  expect_error("peak.liveBytes >", "column 17: expected a number");
  expect_error("peak.liveBytes > +", "column 19: expected a number");
  expect_error("peak.liveBytes > MiB", "column 18: expected a number");
  expect_error("peak.liveBytes > nan", "column 18: expected a number");
  expect_error("peak.liveBytes > +-5", "column 19: expected a number");
  expect_error("peak.liveBytes > 1e99999", "column 18: expected a number");
}

TEST_F(GateParserTest, SaysWhichUnitsThereAre) {
  expect_error("peak.liveBytes > 5 mib", "column 20: expected % or one of the units B KiB");
  expect_error("peak.liveBytes > 0x10", "column 19: expected % or one of the units B KiB");
  expect_error("peak.liveBytes > 5,5", "column 19: expected % or one of the units B KiB");
  expect_error("time.nsPerEvent > 5 min", "k M G ns us ms s, or the end");
}

TEST_F(GateParserTest, RefusesAnythingAfterTheValue) {
  expect_error("peak.liveBytes > 5MiB 6", "column 23: expected nothing more");
  expect_error("peak.liveBytes > +5%%", "column 21: expected nothing more");
}

TEST_F(GateParserTest, RefusesAPercentageWithoutASign) {
  expect_error("peak.liveBytes > 5%", "column 19: expected no %: a percentage is a change");
}

TEST_F(GateParserTest, RefusesBytesForWhatIsNotInBytes) {
  expect_error("time.nsPerEvent > 5MiB", "column 20: expected no unit of bytes");
}

TEST_F(GateParserTest, RefusesTimesForWhatIsNoTime) {
  expect_error("peak.liveBytes > 5ms", "column 19: expected % or one of the units B KiB");
}

TEST_F(GateParserTest, ReadsBackNoControlCharacters) {
  EXPECT_EQ(error_of("a\x1b[2J\n>5").find('\x1b'), std::string::npos);
}

TEST_F(GateParserTest, ReadsEachAggregateOfASweep) {
  for (const Aggregate& aggregate : kAggregates) {
    const Gate gate = parse_of_sweep(std::string(aggregate.name) + "(peak.residentBytes)>+3%");
    EXPECT_EQ(gate.aggregate, aggregate.name);
    EXPECT_EQ(gate.metric, "peak.residentBytes");
    EXPECT_EQ(gate.unit, schema::MetricUnit::kBytes);
    EXPECT_EQ(gate.kind, GateKind::kPercent);
  }
}

TEST_F(GateParserTest, ReadsAGateOfADiffInASweepToo) {
  const Gate gate = parse_of_sweep("latency.malloc.p99Ns > 2us");
  EXPECT_EQ(gate.aggregate, "");
  EXPECT_EQ(gate.metric, "latency.malloc.p99Ns");
  EXPECT_EQ(gate.value, 2000);
  EXPECT_EQ(parse_of_sweep("counters.f(x) > 1").metric, "counters.f(x)");
}

TEST_F(GateParserTest, ReadsTheMetricsOfSweepsAlone) {
  EXPECT_EQ(parse_of_sweep("mean.residentBytes > 1.5KiB").value, 1536);
  EXPECT_EQ(parse_of_sweep("max(mean.residentBytes) > +5% +1MiB").extra, 0x1p20L);
  EXPECT_EQ(parse_of_sweep("failed>+0").kind, GateKind::kChange);
  EXPECT_EQ(parse_of_sweep("failed > 1k").unit, schema::MetricUnit::kCount);
  expect_error("failed>0", "there is no metric 'failed'");
  expect_error("mean.residentBytes>0", "there is no metric 'mean.residentBytes'");
  expect_error("p90(peak.residentBytes)>0", "there is no metric 'p90(peak.residentBytes)'");
}

TEST_F(GateParserTest, AllowsBlanksAroundTheParentheses) {
  const Gate gate = parse_of_sweep(" p90\t( counters.f(x) ) > 1 ");
  EXPECT_EQ(gate.aggregate, "p90");
  EXPECT_EQ(gate.metric, "counters.f(x)");
}

TEST_F(GateParserTest, SaysWhatIsWrongWithAnAggregate) {
  expect_sweep_error("p80(peak.liveBytes)>1",
                     "column 1: there is no aggregate 'p80' (did you mean p10, p90 or p25?); the "
                     "aggregates are: p10, p25, median, p75, p90, p99, min, max, mean");
  expect_sweep_error("p90 peak.liveBytes>1",
                     "column 5: expected a metric in parentheses, such as p90(peak.residentBytes)");
  expect_sweep_error("p90(peak.liveBytes>1", "column 19: expected ')' after the metric");
  expect_sweep_error("p90()>1", "column 5: expected a metric");
  expect_sweep_error("p90(peak.liveByte)>1", "column 5: there is no metric 'peak.liveByte' (did");
  expect_sweep_error("mean.residentByte>1", "did you mean mean.residentBytes");
}

TEST_F(GateParserTest, RefusesAnAggregateOrAPercentageOfFailedCells) {
  expect_sweep_error("max(failed)>1", "column 1: expected failed without an aggregate");
  expect_sweep_error("failed>+3%", "column 10: expected no %: failed is a number of cells");
}

}  // namespace
}  // namespace heaptape::replayer
