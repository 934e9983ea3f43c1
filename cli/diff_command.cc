#include "cli/commands.h"

#include <algorithm>
#include <iterator>
#include <ostream>
#include <utility>

#include "base/display_text.h"
#include "base/output_file.h"
#include "cli/output_check.h"
#include "cli/wrong_file.h"
#include "replayer/diff/gate.h"
#include "replayer/diff/merged_base.h"
#include "replayer/diff/owner_figures.h"
#include "replayer/report/html/diff_page.h"
#include "schema/report/report_metrics.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::cli {
namespace {

using base::Result;

Result<replayer::NamedReport> read_report(const std::string& path) {
  auto figures = schema::read_figures(path);
  if (!figures.ok()) return not_a_report(figures.error(), path);
  HEAPTAPE_ASSIGN_OR_RETURN(auto stacks, schema::read_stack_tree(path));
  return replayer::NamedReport{path, *std::move(figures), std::move(stacks)};
}

// The last base: its trees and tapes are compared.
const std::string& base_path(const DiffOptions& options) {
  return options.paths[options.paths.size() < 2 ? 0 : options.paths.size() - 2];
}

base::Status check_paths(const DiffOptions& options) {
  if (options.paths.size() >= 2 || !options.baseline.empty()) return {};
  return base::Error::usage(
      "there is only one report: name a second one, or compare with one of its runs by --baseline "
      "LABEL");
}

Result<replayer::ReportDiff> compare(const DiffOptions& options) {
  std::vector<replayer::Gate> gates;  // first: reports a misspelt gate before reading any file
  for (const std::string& expression : options.fail_if) {
    HEAPTAPE_ASSIGN_OR_RETURN(replayer::Gate gate, replayer::parse_gate(expression));
    gates.push_back(std::move(gate));
  }
  if (options.is_strict) std::ranges::move(replayer::strict_gates(), std::back_inserter(gates));
  HEAPTAPE_RETURN_IF_ERROR(check_paths(options));
  HEAPTAPE_ASSIGN_OR_RETURN(replayer::NamedReport now, read_report(options.paths.back()));
  std::vector<replayer::NamedReport> bases;
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) {
    HEAPTAPE_ASSIGN_OR_RETURN(bases.emplace_back(), read_report(options.paths[i]));
  }
  replayer::add_absent_owners(bases, now);
  if (bases.empty()) return replayer::diff_reports(now, now, gates, options.run, options.baseline);
  return replayer::diff_reports(replayer::merged_base(std::move(bases)), now, gates, options.run,
                                options.baseline);
}

base::Status check_output(const DiffOptions& options) {
  for (const std::string& path : options.paths) {
    if (!options.html_path.empty() && base::same_file(options.html_path, path)) {
      return base::Error::usage(base::quoted(path) + " is a report: write to another file");
    }
  }
  return check_writable(options.html_path);
}

Result<replayer::ReportSeries> read_series(const std::string& path) {
  replayer::ReportSeries series;
  HEAPTAPE_ASSIGN_OR_RETURN(series.stacks, schema::read_stack_tree(path));
  HEAPTAPE_ASSIGN_OR_RETURN(series.timelines, schema::read_timelines(path));
  return series;
}

// Does nothing without --html.
base::Status write_page(const DiffOptions& options, const replayer::ReportDiff& diff) {
  if (options.html_path.empty()) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(const auto base, read_series(base_path(options)));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto now, read_series(options.paths.back()));
  return base::write_file(options.html_path, replayer::diff_page(diff, base, now));
}

}  // namespace

int run_diff(const DiffOptions& options, Console& console) {
  const base::Status can_write = check_output(options);
  if (!can_write.ok()) return console.fail(can_write.error());
  Result<replayer::ReportDiff> diff = compare(options);
  if (!diff.ok()) return console.fail(diff.error());
  if (options.shows_all) {
    for (replayer::RunDiff& run : diff->runs) run.table_rows = run.rows.size();
    diff->lists_all_gates = true;
  }
  const base::Status written = write_page(options, *diff);
  if (!written.ok()) return console.fail(written.error());
  const Result<std::string> text = replayer::format_diff(*diff, options.format);
  if (!text.ok()) return console.fail(text.error());
  // The text contains it; other formats go to files that nobody looks at now.
  if (!diff->warning.empty() && options.format != replayer::DiffFormat::kText) {
    console.print_error("WARNING: " + diff->warning);
  }
  if (options.format == replayer::DiffFormat::kText) {
    console.print_text(*text);
  } else {
    console.out() << *text;
  }
  return console.finish(diff->failed ? kExitFailed : kExitDone);
}

}  // namespace heaptape::cli
