// JUnit XML, the common subset that CI servers show: one test suite, a test case for each gate and
// run, <failure> and <skipped> with a message.
#include <algorithm>
#include <string_view>

#include "replayer/report/diff_format.h"

namespace heaptape::replayer {
namespace {

// `text` as content or attribute value of XML. Expects what display_text gives.
std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string attribute(const char* name, std::string_view value) {
  return std::string(" ") + name + "=\"" + xml_escaped(value) + "\"";
}

std::string count_attribute(const ReportDiff& diff, const char* name, GateState state) {
  return attribute(name,
                   std::to_string(std::ranges::count(diff.gates, state, &GateOutcome::state)));
}

// Those of the number that the gate is about, or comes nearest to it. Null if no site changed it.
const SiteChanges* changes_behind(const ReportDiff& diff, const GateOutcome& gate) {
  if (gate.unit == schema::MetricUnit::kNs || !gate.base || !gate.now || diff.sites.empty()) {
    return nullptr;
  }
  const bool is_at_end =
      gate.expression.starts_with("end.") || gate.expression.starts_with("atExit.");
  const auto found = std::ranges::find(diff.sites, is_at_end ? "liveBytes" : "peakBytes",
                                       [](const SiteChanges& changes) { return changes.name; });
  return found == diff.sites.end() ? nullptr : &*found;
}

std::string failure_text(const ReportDiff& diff, const GateOutcome& gate) {
  const SiteChanges* const changes = changes_behind(diff, gate);
  const std::string culprit = changes == nullptr ? "" : culprit_text(*changes);
  return culprit.empty() ? gate.detail : gate.detail + "; " + culprit;
}

std::string test_case(const ReportDiff& diff, const GateOutcome& gate) {
  std::string text =
      "  <testcase" + attribute("classname", gate.run) + attribute("name", gate.expression);
  if (gate.state == GateState::kPassed) return text + "/>\n";
  const bool failed = gate.state == GateState::kFailed;
  return text + ">\n    <" + (failed ? "failure" : "skipped") +
         attribute("message", failed ? failure_text(diff, gate) : gate.detail) +
         "/>\n  </testcase>\n";
}

// What a reader of the test log should know, one sentence a line.
std::string log_text(const ReportDiff& diff) {
  std::string text;
  if (!diff.warning.empty()) text += "warning: " + diff.warning + "\n";
  for (const std::string& note : diff.notes) text += "note: " + note + "\n";
  for (const RunDiff& run : diff.runs) {
    for (const std::string& note : run.notes) text += "note: run " + run.label + ": " + note + "\n";
  }
  return text + diff.verdict() + "\n";
}

}  // namespace

std::string to_junit(const ReportDiff& diff) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" +
      attribute("name", "heaptape diff") + attribute("tests", std::to_string(diff.gates.size())) +
      count_attribute(diff, "failures", GateState::kFailed) + attribute("errors", "0") +
      count_attribute(diff, "skipped", GateState::kSkipped) + ">\n";
  for (const GateOutcome& gate : diff.gates) text += test_case(diff, gate);
  return text + "  <system-out>" + xml_escaped(log_text(diff)) + "</system-out>\n</testsuite>\n";
}

}  // namespace heaptape::replayer
