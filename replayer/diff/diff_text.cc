// The terminal format.
#include <string>

#include "base/number_text.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

// The gates that failed, and how many others there are.
std::string gates_text(const ReportDiff& diff) {
  if (diff.gates.empty()) return "";
  std::string text = "\n";
  size_t passed = 0;
  size_t skipped = 0;
  for (const GateOutcome& gate : diff.gates) {
    if (diff.lists_all_gates || gate.state == GateState::kFailed) {
      text += std::string(state_text(gate.state)) + "  " + gate.expression + "  [" + gate.run +
              "]  " + gate.detail + "\n";
    } else {
      ++(gate.state == GateState::kPassed ? passed : skipped);
    }
  }
  if (passed + skipped == 0) return text;
  if (passed != 0) text += base::counted(passed, "gate check") + " passed";
  if (passed != 0 && skipped != 0) text += ", ";
  if (skipped != 0) text += base::counted(skipped, "gate check") + " skipped";
  return text + ": --all lists them\n";
}

}  // namespace

std::string to_text(const ReportDiff& diff) {
  std::string text = diff.warning.empty() ? "" : "WARNING: " + diff.warning + "\n\n";
  text += diff.summary.text();
  if (!diff.summary.headline.empty()) text += "\n";
  text += "base  " + side_text(diff.base) + "\nnew   " + side_text(diff.now) + "\n";
  for (const std::string& note : diff.notes) text += "note: " + note + "\n";
  bool is_noisy = false;
  for (const RunDiff& run : diff.runs) {
    text += "\nrun " + run.label + "\n";
    for (const std::string& note : run.notes) text += "  note: " + note + "\n";
    text += aligned(diff_table(run, run.table_rows), "  ");
    is_noisy = is_noisy || has_noise(run, run.table_rows);
  }
  if (is_noisy) text += std::string("\n") + kNoiseNote + "\n";
  for (const SiteChanges& changes : diff.sites) {
    text += "\nsites that account for the change of " + changes.words + "\n";
    text += aligned(diff_table(changes), "  ");
  }
  for (const CohortChanges& changes : diff.cohorts) {
    text += "\nblocks that account for the change of " + changes.words + "\n";
    text += aligned(diff_table(changes), "  ");
  }
  for (const auto& [heading, rows] : pin_tables(diff)) {
    text += "\n" + heading + "\n" + aligned(rows, "  ");
  }
  text += gates_text(diff);
  const std::vector<std::string> reasons = reasons_text(diff);
  if (!reasons.empty()) text += "\n";
  for (const std::string& reason : reasons) text += reason + "\n";
  return text + "\n" + diff.verdict() + "\n";
}

base::Result<std::string> format_diff(const ReportDiff& diff, DiffFormat format) {
  switch (format) {
    case DiffFormat::kText:
      return to_text(diff);
    case DiffFormat::kMarkdown:
      return to_markdown(diff);
    case DiffFormat::kJson:
      return to_json(diff);
    case DiffFormat::kJunit:
      break;
  }
  return to_junit(diff);
}

}  // namespace heaptape::replayer
