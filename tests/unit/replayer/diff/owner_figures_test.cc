#include "replayer/diff/owner_figures.h"

#include <gtest/gtest.h>

#include "replayer/diff/gate.h"
#include "tests/support/reports.h"

namespace heaptape::replayer {
namespace {

using tests::named_report;
using tests::run_figures;

constexpr char kArrow[] = "atPeak.process.besideMalloc.libarrow.bytes";
constexpr char kPython[] = "atPeak.process.besideMalloc.python3.11.bytes";
constexpr char kPythonAtEnd[] = "end.process.besideMalloc.python3.11.bytes";

class OwnerFigures : public testing::Test {
 protected:
  std::optional<schema::MetricValue> of_base(const char* name) const {
    return bases_[0].figures.runs[0].metric(name);
  }
  GateOutcome judge_one(const std::string& gate) const {
    return judge(*parse_gate(gate), {{&bases_[0].figures.runs[0], &now_.figures.runs[0]}})[0];
  }
  static std::optional<schema::MetricValue> bytes(uint64_t value) { return value; }

  std::vector<NamedReport> bases_ = {
      named_report("a", {run_figures("glibc", {{kPython, uint64_t{100}}})})};
  NamedReport now_ =
      named_report("b", {run_figures("glibc", {{kPython, uint64_t{90}}, {kArrow, uint64_t{7}}})});
};

TEST_F(OwnerFigures, AreZeroWhereOnlyOthersHaveTheOwner) {
  add_absent_owners(bases_, now_);
  EXPECT_EQ(of_base(kArrow), bytes(0));
  EXPECT_EQ(of_base(kPython), bytes(100));
  EXPECT_EQ(judge_one(std::string(kArrow) + ">+5").state, GateState::kFailed);
  EXPECT_EQ(judge_one(std::string(kArrow) + ">+7").state, GateState::kPassed);
  EXPECT_EQ(judge_one(std::string(kArrow) + ">+10%").state, GateState::kFailed);
}

TEST_F(OwnerFigures, AreZeroInANewReportThatLostTheOwner) {
  std::swap(bases_[0], now_);
  add_absent_owners(bases_, now_);
  EXPECT_EQ(judge_one(std::string(kArrow) + ">+10%").state, GateState::kPassed);
}

TEST_F(OwnerFigures, StayUnknownInAReportThatKnowsNoOwners) {
  bases_[0].figures.runs[0].metrics = {{kPythonAtEnd, uint64_t{1}}};
  add_absent_owners(bases_, now_);
  EXPECT_FALSE(of_base(kArrow));
  EXPECT_EQ(judge_one(std::string(kArrow) + ">+10%").detail,
            "the base run has no " + std::string(kArrow));
  EXPECT_FALSE(now_.figures.runs[0].metric(kPythonAtEnd));
}

TEST_F(OwnerFigures, OfANameThatNobodyHasFailAGate) {
  add_absent_owners(bases_, now_);
  const GateOutcome outcome = judge_one("atPeak.process.besideMalloc.libarow.bytes>+10%");
  EXPECT_EQ(outcome.state, GateState::kFailed);
  EXPECT_TRUE(outcome.detail.starts_with(
      "no compared run has atPeak.process.besideMalloc.libarow.bytes (did you mean "
      "atPeak.process.besideMalloc.libarrow.bytes"))
      << outcome.detail;
}

}  // namespace
}  // namespace heaptape::replayer
