// The formats for people: text and Markdown.
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "replayer/report/diff_format.h"
#include "replayer/report/diff_table.h"
#include "replayer/report/text_table.h"

namespace heaptape::replayer {
namespace {

std::string side_text(const ReportDiff::Side& side) {
  return side.path + "  (tape " + side.tape + ", " + base::grouped(side.events) + " events)";
}

// `text` as literal words of Markdown, also in a table cell. Expects what display_text gives.
std::string markdown_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '@') {  // @: no mention of a user on a forge
      escaped += "&#" + std::to_string(int{c}) + ";";
      continue;
    }
    if (std::string_view("\\`*_{}[]|#~!$").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string markdown_row(const TableRow& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + markdown_escaped(cell) + " |";
  return text + "\n";
}

std::string markdown_table(const std::vector<TableRow>& table) {
  std::string text = markdown_row(table.front()) + "|:--|--:|--:|--:|--:|\n";
  for (size_t i = 1; i < table.size(); ++i) text += markdown_row(table[i]);
  return text;
}

std::string markdown_gates(const ReportDiff& diff) {
  if (diff.gates.empty()) return "";
  std::string text = "\n| gate | run | result | values |\n|:--|:--|:--|:--|\n";
  for (const GateOutcome& gate : diff.gates) {
    text += "| " + markdown_escaped(gate.expression) + " | " + markdown_escaped(gate.run) + " | " +
            state_text(gate.state) + " | " + markdown_escaped(gate.detail) + " |\n";
  }
  return text;
}

}  // namespace

std::string to_text(const ReportDiff& diff) {
  std::string text = "base  " + side_text(diff.base) + "\nnew   " + side_text(diff.now) + "\n";
  if (!diff.warning.empty()) text += "WARNING: " + diff.warning + "\n";
  for (const std::string& note : diff.notes) text += "note: " + note + "\n";
  for (const RunDiff& run : diff.runs) {
    text += "\nrun " + run.label + "\n";
    for (const std::string& note : run.notes) text += "  note: " + note + "\n";
    text += aligned(diff_table(run, run.table_rows), "  ");
  }
  for (const SiteChanges& changes : diff.sites) {
    text += "\nsites that account for the change of " + changes.words + "\n";
    text += aligned(diff_table(changes), "  ");
  }
  if (!diff.gates.empty()) text += "\n";
  for (const GateOutcome& gate : diff.gates) {
    text += std::string(state_text(gate.state)) + "  " + gate.expression + "  [" + gate.run +
            "]  " + gate.detail + "\n";
  }
  return text + "\n" + diff.verdict() + "\n";
}

std::string to_markdown(const ReportDiff& diff) {
  std::string text = "**heaptape diff: " + markdown_escaped(diff.verdict()) +
                     "**\n\n- base: " + markdown_escaped(side_text(diff.base)) +
                     "\n- new: " + markdown_escaped(side_text(diff.now)) + "\n";
  if (!diff.warning.empty()) text += "- **warning: " + markdown_escaped(diff.warning) + "**\n";
  for (const std::string& note : diff.notes) text += "- note: " + markdown_escaped(note) + "\n";
  text += markdown_gates(diff);
  for (const RunDiff& run : diff.runs) {
    text += "\n#### " + markdown_escaped(run.label) + "\n\n";
    for (const std::string& note : run.notes) text += "Note: " + markdown_escaped(note) + "\n\n";
    text += markdown_table(diff_table(run, run.table_rows));
  }
  for (const SiteChanges& changes : diff.sites) {
    text += "\n#### Sites that account for the change of " + changes.words + "\n\n";
    text += markdown_table(diff_table(changes));
  }
  return text;
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
