// Markdown for the comment on a pull request: the essentials fit on a screen, and the rest is
// folded.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kMostRows = 10;  // of each unfolded table

// `text` as literal Markdown, also in a table cell. Expects the output of display_text.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&' || c == '@') {  // @ would mention a user on a forge
      result += "&#" + std::to_string(int{c}) + ";";
      continue;
    }
    if (std::string_view("\\`*_{}[]|#~!$").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string row_text(const TableRow& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + escaped(cell) + " |";
  return text + "\n";
}

// The first `names` columns are text, the others numbers.
std::string table_text(const std::vector<TableRow>& table, size_t names = 1) {
  std::string text = row_text(table.front()) + "|";
  for (size_t i = 0; i < table.front().size(); ++i) text += i < names ? ":--|" : "--:|";
  text += "\n";
  for (size_t i = 1; i < table.size(); ++i) text += row_text(table[i]);
  return text;
}

// Text after the blank line is read as Markdown.
std::string folded(const std::string& summary, const std::string& body) {
  return "\n<details><summary>" + escaped(summary) + "</summary>\n\n" + body + "\n</details>\n";
}

std::string gates_text(const std::vector<const GateOutcome*>& gates) {
  std::vector<TableRow> table = {{"gate", "run", "result", "values"}};
  for (const GateOutcome* gate : gates) {
    table.push_back({gate->expression, gate->run, state_text(gate->state), gate->detail});
  }
  return table_text(table, 4);
}

std::string failed_gates(const ReportDiff& diff) {
  std::vector<const GateOutcome*> failed;
  for (const GateOutcome& gate : diff.gates) {
    if (gate.state == GateState::kFailed) failed.push_back(&gate);
  }
  if (failed.empty()) return "";
  const size_t more = failed.size() > kMostRows ? failed.size() - kMostRows : 0;
  failed.resize(failed.size() - more);
  std::string text = "\n" + gates_text(failed);
  if (more != 0) text += "\n" + base::grouped(more) + " more failed: see all gates below.\n";
  return text;
}

// The size of a change, to sort the table. A base of 0 has no percentage: then bytes are compared
// with the allocator's peak, refused calls come first, and other counts last.
double size_of_change(const RunDiff& run, const MetricRow& row) {
  if (const auto percent = percent_change(*row.base, *row.now)) return std::fabs(*percent);
  if (row.name == "accounting.refused") return HUGE_VAL;
  if (row.unit != schema::MetricUnit::kBytes) return 0;
  const MetricRow* const whole = run.find("peak.committedBytes");
  if (whole == nullptr || !whole->base || schema::number_of(*whole->base) == 0) return 0;
  return static_cast<double>(100 * schema::number_of(*row.now) / schema::number_of(*whole->base));
}

// The metrics in the tables, without noise.
std::string changed_most(const ReportDiff& diff) {
  struct Change {
    const RunDiff* run;
    const MetricRow* row;
    double size;
  };
  std::vector<Change> changes;
  std::set<std::string> of_program;  // equal in all runs: named once
  for (const RunDiff& run : diff.runs) {
    for (const MetricRow& row : std::span(run.rows).first(run.table_rows)) {
      if (!row.base || !row.now || *row.base == *row.now || row.is_noise()) continue;
      const bool is_of_program = row.name.find(".live") != row.name.npos;
      if (is_of_program && !of_program.insert(row.name).second) continue;
      changes.push_back({&run, &row, size_of_change(run, row)});
    }
  }
  if (changes.empty()) return "";
  std::ranges::stable_sort(changes, std::greater(), &Change::size);
  std::vector<TableRow> table = {{"changed most", "metric", "base", "new", "change", "%"}};
  for (const Change& change : changes) {
    if (table.size() > kMostRows) break;
    TableRow row = diff_row(*change.row);
    row.insert(row.begin(), change.run->label);
    table.push_back(std::move(row));
  }
  return "\n" + table_text(table, 2);
}

std::string runs_text(const ReportDiff& diff) {
  std::string text;
  for (const RunDiff& run : diff.runs) {
    std::string body;
    for (const std::string& note : run.notes) body += "Note: " + escaped(note) + "\n\n";
    body += table_text(diff_table(run, run.table_rows));
    if (has_noise(run, run.table_rows)) body += "\n" + escaped(kNoiseNote) + "\n";
    text += folded(run.label + ": " + base::counted(run.table_rows, "metric"), body);
  }
  return text;
}

}  // namespace

std::string to_markdown(const ReportDiff& diff) {
  std::string text = "**heaptape diff: " + escaped(diff.verdict()) + "**\n";
  if (!diff.warning.empty()) text += "\n**warning: " + escaped(diff.warning) + "**\n";
  if (!diff.summary.headline.empty()) text += "\n" + escaped(diff.summary.headline) + "\n";
  if (!diff.summary.parts.empty()) text += "\n";
  for (const ChangedPart& part : diff.summary.parts) text += "- " + escaped(part.line()) + "\n";
  const std::vector<std::string> reasons = reasons_text(diff);
  if (!reasons.empty()) text += "\nWhy gates failed:\n\n";
  for (const std::string& reason : reasons) text += "- " + escaped(reason) + "\n";
  text += failed_gates(diff) + changed_most(diff);
  if (!diff.gates.empty()) {
    std::vector<const GateOutcome*> all;
    for (const GateOutcome& gate : diff.gates) all.push_back(&gate);
    text += folded("All gates: " + base::grouped(all.size()), gates_text(all));
  }
  text += runs_text(diff);
  for (const SiteChanges& changes : diff.sites) {
    text += folded("Sites that account for the change of " + changes.words,
                   table_text(diff_table(changes)));
  }
  for (const CohortChanges& changes : diff.cohorts) {
    text += folded("Blocks that account for the change of " + changes.words,
                   table_text(diff_table(changes)));
  }
  for (const auto& [heading, rows] : pin_tables(diff)) {
    std::string summary = heading;
    summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
    text += folded(summary, table_text(rows));
  }
  std::string what = "- base: " + escaped(side_text(diff.base)) +
                     "\n- new: " + escaped(side_text(diff.now)) + "\n";
  for (const std::string& note : diff.notes) what += "- note: " + escaped(note) + "\n";
  return text + folded("What was compared", what);
}

}  // namespace heaptape::replayer
