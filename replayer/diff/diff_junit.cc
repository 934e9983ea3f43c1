// JUnit XML, the common subset that CI servers show: a test suite for each run, a test case for
// each gate, <failure> and <skipped> with a message.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"

namespace heaptape::replayer {
namespace {

constexpr char kSuiteEnd[] = "  </testsuite>\n";

// `text` as XML content or attribute value. Expects the output of display_text.
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

// One line, for viewers that show nothing but the message.
std::string failure_text(const ReportDiff& diff, const GateOutcome& gate) {
  std::string text = gate.detail;
  for (const std::string& reason : reasons_text(diff, gate)) text += "; " + reason;
  return text;
}

std::string failure_body(const ReportDiff& diff, const GateOutcome& gate) {
  std::string text = gate.expression + " on " + gate.run + ": " + gate.detail + "\n";
  for (const std::string& reason : reasons_text(diff, gate)) text += reason + "\n";
  return text + "base: " + side_text(diff.base) + "\nnew: " + side_text(diff.now) + "\n";
}

std::string test_case(const ReportDiff& diff, const GateOutcome& gate) {
  std::string text = "    <testcase" + attribute("classname", gate.run) +
                     attribute("name", gate.expression) + attribute("time", "0");
  if (gate.state == GateState::kPassed) return text + "/>\n";
  if (gate.state == GateState::kSkipped) {
    return text + ">\n      <skipped" + attribute("message", gate.detail) + "/>\n    </testcase>\n";
  }
  return text + ">\n      <failure" + attribute("type", "gate") +
         attribute("message", failure_text(diff, gate)) + ">" +
         xml_escaped(failure_body(diff, gate)) + "</failure>\n    </testcase>\n";
}

// The time of the replay in the new report; 0 if it has no times.
std::string seconds_text(const RunDiff& run) {
  const MetricRow* const found = run.find("time.replayNs");
  if (found == nullptr || !found->now) return "0";
  constexpr double kNsPerSecond = 1e9;
  return base::format_text("%.3f",
                           static_cast<double>(schema::number_of(*found->now)) / kNsPerSecond);
}

// A suite for each run that has gates.
std::vector<std::string> suite_names(const ReportDiff& diff) {
  std::vector<std::string> names;
  for (const GateOutcome& gate : diff.gates) {
    if (std::ranges::find(names, gate.run) == names.end()) names.push_back(gate.run);
  }
  return names;
}

std::string count(const std::vector<const GateOutcome*>& gates, GateState state) {
  return std::to_string(
      std::ranges::count(gates, state, [](const GateOutcome* gate) { return gate->state; }));
}

// The counts that both <testsuites> and <testsuite> have. Jenkins checks that <testsuites> has no
// others.
std::string counts(const std::vector<const GateOutcome*>& gates, size_t errors = 0) {
  return attribute("tests", std::to_string(gates.size() + errors)) +
         attribute("failures", count(gates, GateState::kFailed)) +
         attribute("errors", std::to_string(errors));
}

std::string suite(const ReportDiff& diff, const std::string& name) {
  std::vector<const GateOutcome*> gates;
  for (const GateOutcome& gate : diff.gates) {
    if (gate.run == name) gates.push_back(&gate);
  }
  const auto run = std::ranges::find(diff.runs, name, &RunDiff::label);
  std::string text = "  <testsuite" + attribute("name", "heaptape diff: " + name) + counts(gates) +
                     attribute("skipped", count(gates, GateState::kSkipped)) +
                     attribute("time", run == diff.runs.end() ? "0" : seconds_text(*run)) + ">\n";
  for (const GateOutcome* gate : gates) text += test_case(diff, *gate);
  return text;
}

// The remarks for readers of the test log, one sentence a line.
std::string log_text(const ReportDiff& diff) {
  std::string text;
  if (!diff.warning.empty()) text += "warning: " + diff.warning + "\n";
  for (const std::string& note : diff.notes) text += "note: " + note + "\n";
  for (const RunDiff& run : diff.runs) {
    for (const std::string& note : run.notes) text += "note: run " + run.label + ": " + note + "\n";
  }
  return text + diff.summary.text() + diff.verdict() + "\n";
}

// A failure without a gate, such as that of a run that is only in the new report.
std::string error_case(const ReportDiff& diff) {
  return "    <testcase" + attribute("classname", "heaptape diff") + attribute("name", "replays") +
         attribute("time", "0") + ">\n      <error" + attribute("type", "replay") +
         attribute("message", diff.verdict()) + "/>\n    </testcase>\n";
}

}  // namespace

std::string to_junit(const ReportDiff& diff) {
  std::vector<const GateOutcome*> all;
  for (const GateOutcome& gate : diff.gates) all.push_back(&gate);
  const bool has_error = diff.failed && std::ranges::find(diff.gates, GateState::kFailed,
                                                          &GateOutcome::state) == diff.gates.end();
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                     attribute("name", "heaptape diff") + counts(all, has_error) + ">\n";
  for (const std::string& name : suite_names(diff)) text += suite(diff, name) + kSuiteEnd;
  if (all.empty() || has_error) {
    text += "  <testsuite" + attribute("name", "heaptape diff") + counts({}, has_error) +
            attribute("skipped", "0") + attribute("time", "0") + ">\n" +
            (has_error ? error_case(diff) : "") + kSuiteEnd;
  }
  text.insert(text.size() - std::size(kSuiteEnd) + 1,
              "    <system-out>" + xml_escaped(log_text(diff)) + "</system-out>\n");
  return text + "</testsuites>\n";
}

}  // namespace heaptape::replayer
