#include "replayer/report/html/replay_page.h"

#include <algorithm>
#include <sstream>

#include "base/number_text.h"
#include "base/version.h"
#include "replayer/report/figure_table.h"
#include "replayer/report/html/film_data.h"
#include "replayer/report/html/flame_data.h"
#include "replayer/report/html/json_writer.h"
#include "replayer/report/html/page.h"
#include "replayer/report/html/page_data.h"
#include "replayer/report/html/static_text.h"
#include "replayer/report/html/timeline_data.h"
#include "replayer/report/html/where_text.h"
#include "replayer/report/run_summary.h"
#include "replayer/report/run_table.h"
#include "replayer/report/verdict_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::RunFigures;

constexpr size_t kMostFilmBytes = 320'000;

void write_row(JsonWriter& out, const FigureTable& table, const FigureTable::Row& row,
               const std::vector<RunFigures>& figures) {
  out.open_object();
  out.field("label", row.label);
  out.field("backend", figures[row.run].backend);
  out.name("cells");
  out.list(row.cells);
  out.name("values");
  out.open_list();
  for (const std::string& metric : table.metrics) write_value(out, figures[row.run].metric(metric));
  out.close_list();
  out.close_object();
}

void write_table(JsonWriter& out, const char* name, const FigureTable& table,
                 const std::vector<RunFigures>& figures) {
  out.name(name);
  out.open_object();
  out.name("columns");
  out.open_list();
  for (const std::string& metric : table.metrics) {
    const MetricHeading heading = heading_of(metric);
    out.open_object();
    out.field("metric", metric);
    out.field("group", heading.group);
    out.field("name", heading.name);
    out.field("unit", schema::unit_name(schema::metric_unit(metric)));
    out.close_object();
  }
  out.close_list();
  out.name("rows");
  out.open_list();
  for (const FigureTable::Row& row : table.rows) write_row(out, table, row, figures);
  out.close_list();
  out.close_object();
}

// The run that the verdict calls better.
void write_best(JsonWriter& out, const Verdict& verdict) {
  out.open_list();
  for (const Finding& finding : verdict.findings) {
    if (finding.kind != FindingKind::kAllocator) continue;
    out.open_object();
    out.field("state", state_of(verdict.moment));
    out.field("label", finding.allocator->label);
    out.close_object();
  }
  out.close_list();
}

void write_runs(JsonWriter& out, const std::vector<RunFigures>& runs) {
  out.open_list();
  for (const RunFigures& run : runs) {
    out.open_object();
    out.field("label", run.label);
    out.field("backend", run.backend);
    out.field("failure", run.failure);
    out.close_object();
  }
  out.close_list();
}

void write_moments(JsonWriter& out, const std::vector<schema::MomentFigures>& moments) {
  out.open_list();
  for (const schema::MomentFigures& moment : moments) {
    out.open_object();
    out.field("name", moment.name);
    out.field("at", moment.at);
    out.field("timeNs", moment.time_ns);
    out.close_object();
  }
  out.close_list();
}

// Where the memory of each run is, in each state that has an account.
void write_accounts(JsonWriter& out, const schema::ReportFigures& report) {
  constexpr const char* kUnseen = "account.late.unseenBytes";  // only of late recordings
  constexpr const char* kParts[] = {"liveBytes",
                                    "slackBytes",
                                    "account.metadataBytes",
                                    "account.cachedBytes",
                                    "account.holeBytes",
                                    "account.topBytes",
                                    kUnseen,
                                    "account.unexplainedBytes",
                                    "account.returnedBytes",
                                    "account.untouchedBytes",
                                    "residentBytes",
                                    "committedBytes"};
  out.open_list();
  for (const schema::MomentFigures& moment : report.moments) {
    const std::string state = state_of(moment.name);
    out.open_object();
    out.field("state", state);
    out.field("moment", moment.name);
    out.name("rows");
    out.open_list();
    for (const RunFigures& run : report.runs) {
      if (!run.metric(state + ".account.holeBytes")) continue;
      out.open_object();
      out.field("label", run.label);
      out.field("backend", run.backend);
      for (const char* const part : kParts) {
        const auto value = run.metric(state + "." + part);
        if (!value && part == kUnseen) continue;
        out.name(part);
        write_value(out, value);
      }
      out.close_object();
    }
    out.close_list();
    out.close_object();
  }
  out.close_list();
}

void write_stacks(JsonWriter& out, const RankedSites& sites) {
  out.name("stacks");
  write_stack_tree(out, sites.stacks);
  out.name("sites");
  write_sites(out, sites);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) list.push_back(line);
  return list;
}

// As the terminal has them: the verdict, the tables, and the lines below these.
std::string static_content(const schema::TapeReader& tape, const BuiltReport& report,
                           const std::vector<RunResult>& runs) {
  const Verdict& verdict = report.verdict;
  std::vector<std::string> findings;
  for (const Finding& finding : verdict.findings) {
    const std::string todo = action(verdict, finding, kSomeTape);
    findings.push_back(evidence(verdict, finding) + (todo.empty() ? "" : "; " + todo));
  }
  return html_element("h1", tape.path()) + html_element("p class=\"verdict\"", headline(verdict)) +
         html_list(findings) +
         html_table("The runs compared", text_rows(overview_table(report.figures, runs)), 2) +
         html_table("Where the memory is", text_rows(account_table(report.figures.runs, runs)), 2) +
         html_list(lines_of(run_lines(report.figures, runs)));
}

}  // namespace

std::string replay_page(const schema::TapeReader& tape, const BuiltReport& report,
                        const std::vector<RunResult>& runs, const RankedSites* sites,
                        const FilmSites& films) {
  const std::vector<RunFigures>& figures = report.figures.runs;
  const Verdict& verdict = report.verdict;
  const auto told = std::ranges::find(figures, verdict.run.label, &RunFigures::label);
  JsonWriter out;
  out.open_object();
  out.field("kind", "replay");
  out.field("heaptape", base::kVersion);
  out.name("tape");
  write_tape(out, tape);
  out.name("verdict");
  out.json(report.verdict_json);
  out.field("where",
            where_it_is(told == figures.end() ? nullptr : &*told, state_of(verdict.moment)));
  out.name("best");
  write_best(out, verdict);
  out.name("runs");
  write_runs(out, figures);
  out.name("moments");
  write_moments(out, report.figures.moments);
  write_table(out, "overview", overview_table(report.figures, runs), figures);
  out.name("accounts");
  write_accounts(out, report.figures);
  write_table(out, "accountTable", account_table(figures, runs), figures);
  out.name("report");
  out.json(report.short_json);
  out.name("lines");
  out.list(lines_of(run_lines(report.figures, runs)));
  out.field("recordedNote", recorded_sizes_text(report.figures, runs));
  out.name("timeline");
  write_timelines(out, report.timelines);
  out.name("films");
  write_films(out, runs, films, kMostFilmBytes);
  if (sites != nullptr) write_stacks(out, *sites);
  out.close_object();
  return html_page("heaptape: " + report.figures.tape_path, out.text(),
                   static_content(tape, report, runs));
}

}  // namespace heaptape::replayer
