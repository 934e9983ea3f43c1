// The formats for people: text and Markdown.
#include <algorithm>
#include <string_view>
#include <vector>

#include "base/number_text.h"
#include "replayer/report/diff_format.h"
#include "replayer/report/metric_text.h"
#include "replayer/report/text_table.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kShownSites = 10;

TableRow row_of(const MetricRow& row) {
  return {row.name, value_text(row.base, row.unit), value_text(row.now, row.unit),
          change_text(row.base, row.now, row.unit), percent_text(row.base, row.now)};
}

std::vector<TableRow> table_of(const RunDiff& run) {
  std::vector<TableRow> table = {{"metric", "base", "new", "change", "%"}};
  for (size_t i = 0; i < run.table_rows; ++i) table.push_back(row_of(run.rows[i]));
  return table;
}

std::vector<TableRow> table_of(const SiteChanges& changes) {
  std::vector<TableRow> table = {{"site", "base", "new", "change", "share of the change"}};
  const auto add = [&](const std::string& name, const SiteChange& site) {
    table.push_back({name, base::bytes_text(site.base), base::bytes_text(site.now),
                     change_text(site.base, site.now, schema::MetricUnit::kBytes),
                     signed_share_text(site.share(changes.base, changes.now))});
  };
  const SiteChange total{{}, changes.base, changes.now};
  SiteChange others = total;
  for (size_t i = 0; i < std::min(kShownSites, changes.sites.size()); ++i) {
    const SiteChange& site = changes.sites[i];
    add(short_text(site.place), site);
    others.base -= std::min(others.base, site.base);
    others.now -= std::min(others.now, site.now);
  }
  if (others.base != 0 || others.now != 0) add("(others)", others);
  add("total", total);
  return table;
}

const char* state_text(GateState state) {
  switch (state) {
    case GateState::kPassed:
      return "PASS";
    case GateState::kFailed:
      return "FAIL";
    case GateState::kSkipped:
      break;
  }
  return "SKIP";
}

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
    text += aligned(table_of(run), "  ");
  }
  for (const SiteChanges& changes : diff.sites) {
    text += "\nsites that account for the change of " + changes.words + "\n";
    text += aligned(table_of(changes), "  ");
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
    text += markdown_table(table_of(run));
  }
  for (const SiteChanges& changes : diff.sites) {
    text += "\n#### Sites that account for the change of " + changes.words + "\n\n";
    text += markdown_table(table_of(changes));
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
