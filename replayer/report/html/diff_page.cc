#include "replayer/report/html/diff_page.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "replayer/diff/diff_table.h"
#include "replayer/report/html/flame_data.h"
#include "replayer/report/html/json_writer.h"
#include "replayer/report/html/page.h"
#include "replayer/report/html/page_data.h"
#include "replayer/report/html/static_text.h"
#include "replayer/report/html/timeline_data.h"
#include "replayer/sites/frame_text.h"

namespace heaptape::replayer {
namespace {

void write_side(JsonWriter& out, const char* name, const ReportDiff::Side& side) {
  out.name(name);
  out.open_object();
  out.field("path", side.path);
  out.field("tape", side.tape);
  out.field("events", side.events);
  out.close_object();
}

void write_table(JsonWriter& out, const std::vector<TableRow>& table) {
  out.open_list();
  for (const TableRow& row : table) out.list(row);
  out.close_list();
}

void write_run(JsonWriter& out, const RunDiff& run) {
  out.open_object();
  out.field("label", run.label);
  out.name("notes");
  out.list(run.notes);
  out.field("shownRows", run.table_rows);
  out.name("table");
  write_table(out, diff_table(run, run.rows.size()));
  out.name("exact");
  out.open_list();
  for (const MetricRow& row : run.rows) {
    out.open_object();
    out.field("unit", schema::unit_name(row.unit));
    out.name("base");
    write_value(out, row.base);
    out.name("now");
    write_value(out, row.now);
    out.close_object();
  }
  out.close_list();
  out.close_object();
}

void write_blocks(JsonWriter& out, const std::string& words, const std::vector<TableRow>& table) {
  out.open_object();
  out.field("words", words);
  out.name("table");
  write_table(out, table);
  out.close_object();
}

// Adds the function and module of each site, by which the flame graph finds it.
void write_changes(JsonWriter& out, const SiteChanges& changes) {
  std::vector<std::string> functions;
  std::vector<std::string> modules;
  for (const SiteChange& site : shown_sites(changes)) {
    functions.push_back(site.place.function);
    modules.push_back(last_part(site.place.module));
  }
  out.open_object();
  out.field("words", changes.words);
  out.name("functions");
  out.list(functions);
  out.name("modules");
  out.list(modules);
  out.name("table");
  write_table(out, diff_table(changes));
  out.close_object();
}

TableRow gate_row(const GateOutcome& gate) {
  return {state_text(gate.state), gate.expression, gate.run, gate.detail};
}

void write_gates(JsonWriter& out, const std::vector<GateOutcome>& gates) {
  out.open_list();
  for (const GateOutcome& gate : gates) out.list(gate_row(gate));
  out.close_list();
}

// For each compared run, its timeline in the base, then that in the new report; empty if a report
// has none.
std::vector<schema::RunTimeline> side_by_side(const ReportDiff& diff, const NamedReport& base,
                                              const NamedReport& now) {
  std::vector<schema::RunTimeline> runs;
  for (const RunDiff& run : diff.runs) {
    for (const NamedReport* const side : {&base, &now}) {
      const std::string& label = side == &base ? run.base_label : run.label;
      const auto found = std::ranges::find(side->timelines, label, &schema::RunTimeline::label);
      runs.push_back(found == side->timelines.end() ? schema::RunTimeline() : *found);
    }
  }
  return runs;
}

void write_charts(JsonWriter& out, const std::vector<schema::RunTimeline>& runs) {
  std::vector<std::string> backends;
  std::vector<schema::TimelineFigures> timelines;
  for (const schema::RunTimeline& run : runs) {
    backends.push_back(run.backend);
    timelines.push_back(run.timeline);
  }
  out.name("backends");
  out.list(backends);
  out.name("timeline");
  write_timelines(out, timelines);
}

std::vector<std::string> part_lines(const ChangeSummary& summary) {
  std::vector<std::string> lines;
  for (const ChangedPart& part : summary.parts) lines.push_back(part.line());
  return lines;
}

// As the terminal has them: the verdict with its reasons, the gates, and what changed.
std::string static_content(const ReportDiff& diff) {
  std::vector<TableRow> gates = {{"gate", "result", "run", "values"}};
  for (const GateOutcome& gate : diff.gates) {
    TableRow& row = gates.emplace_back(gate_row(gate));
    std::swap(row[0], row[1]);
  }
  const std::string verdict = html_element("p class=\"verdict\"", diff.verdict());
  const std::string headline = html_element("p", diff.summary.headline);
  const bool has_failed = diff.verdict().starts_with("FAIL");
  std::string text =
      html_element("h1", "heaptape diff") + html_element("p", "base: " + side_text(diff.base)) +
      html_element("p", "new: " + side_text(diff.now)) +
      html_element("p", diff.warning.empty() ? "" : "WARNING: " + diff.warning) +
      (has_failed ? verdict + headline : headline + verdict) + html_list(part_lines(diff.summary)) +
      html_list(reasons_text(diff)) + html_list(diff.notes) + html_table("Gates", gates, 1);
  for (const RunDiff& run : diff.runs) {
    text += html_table(run.label, diff_table(run, run.table_rows), 1) + html_list(run.notes);
  }
  return text;
}

}  // namespace

std::string diff_page(const ReportDiff& diff, const NamedReport& base, const NamedReport& now) {
  JsonWriter out;
  out.open_object();
  out.field("kind", "diff");
  out.field("heaptape", base::kVersion);
  out.field("verdict", diff.verdict());
  out.field("headline", diff.summary.headline);
  out.name("parts");
  out.list(part_lines(diff.summary));
  out.name("reasons");
  out.list(reasons_text(diff));
  out.field("warning", diff.warning);
  write_side(out, "base", diff.base);
  write_side(out, "now", diff.now);
  out.name("notes");
  out.list(diff.notes);
  out.name("gates");
  write_gates(out, diff.gates);
  out.name("runs");
  out.open_list();
  for (const RunDiff& run : diff.runs) write_run(out, run);
  out.close_list();
  out.name("cohorts");
  out.open_list();
  for (const auto& one : diff.cohorts) write_blocks(out, one.words, diff_table(one));
  out.close_list();
  out.name("pins");
  out.open_list();
  for (const auto& [heading, table] : pin_tables(diff)) write_blocks(out, heading, table);
  out.close_list();
  out.name("sites");
  out.open_list();
  for (const SiteChanges& changes : diff.sites) write_changes(out, changes);
  out.close_list();
  write_charts(out, side_by_side(diff, base, now));
  if (base.stacks && now.stacks) {
    out.name("stacks");
    write_stack_trees(out, *base.stacks, *now.stacks);
  }
  out.close_object();
  return html_page("heaptape diff: " + diff.base.path + ", " + diff.now.path, out.text(),
                   static_content(diff));
}

}  // namespace heaptape::replayer
