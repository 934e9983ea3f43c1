// The terminal format.
#include <string>

#include "base/number_text.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {

std::string to_text(const ReportDiff& diff) {
  std::string text = "base  " + side_text(diff.base) + "\nnew   " + side_text(diff.now) + "\n";
  if (!diff.warning.empty()) text += "WARNING: " + diff.warning + "\n";
  for (const std::string& note : diff.notes) text += "note: " + note + "\n";
  for (const RunDiff& run : diff.runs) {
    text += "\nrun " + run.label + "\n";
    for (const std::string& note : run.notes) text += "  note: " + note + "\n";
    text += aligned(diff_table(run, run.table_rows), "  ");
  }
  for (const CohortChanges& changes : diff.cohorts) {
    text += "\nblocks that account for the change of " + changes.words + "\n";
    text += aligned(diff_table(changes), "  ");
  }
  for (const SiteChanges& changes : diff.sites) {
    text += "\nsites that account for the change of " + changes.words + "\n";
    text += aligned(diff_table(changes), "  ");
  }
  for (const auto& [heading, rows] : pin_tables(diff)) {
    text += "\n" + heading + "\n" + aligned(rows, "  ");
  }
  if (!diff.gates.empty()) text += "\n";
  for (const GateOutcome& gate : diff.gates) {
    text += std::string(state_text(gate.state)) + "  " + gate.expression + "  [" + gate.run +
            "]  " + gate.detail + "\n";
  }
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
