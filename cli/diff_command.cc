#include "cli/commands.h"

#include <algorithm>
#include <iterator>
#include <optional>
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
#include "schema/report/report_file.h"

namespace heaptape::cli {
namespace {

using base::Result;

Result<replayer::NamedReport> read_report(const std::string& path) {
  auto file = schema::ReportFile::read(path);
  if (!file.ok()) return not_a_report(file.error(), path);
  replayer::NamedReport report{path, {}};
  HEAPTAPE_ASSIGN_OR_RETURN(report.figures, file->figures());
  HEAPTAPE_ASSIGN_OR_RETURN(report.stacks, file->stack_tree());
  HEAPTAPE_ASSIGN_OR_RETURN(report.timelines, file->timelines());
  return report;
}

base::Status check_paths(const DiffOptions& options) {
  if (options.paths.size() >= 2 || !options.baseline.empty()) return {};
  return base::Error::usage(
      "there is only one report: name a second one, or compare with one of its runs by --baseline "
      "LABEL");
}

// Each gate is parsed before any file is read.
Result<std::vector<replayer::Gate>> gates_of(const DiffOptions& options) {
  std::vector<replayer::Gate> gates;
  for (const std::string& expression : options.fail_if) {
    HEAPTAPE_ASSIGN_OR_RETURN(replayer::Gate gate, replayer::parse_gate(expression));
    gates.push_back(std::move(gate));
  }
  if (options.is_strict) std::ranges::move(replayer::strict_gates(), std::back_inserter(gates));
  return gates;
}

// Several bases are one. Without any, the new report has the baseline.
struct Reports {
  std::optional<replayer::NamedReport> only_base;
  replayer::NamedReport now;

  const replayer::NamedReport& base() const { return only_base ? *only_base : now; }
};

Result<Reports> read_reports(const DiffOptions& options) {
  HEAPTAPE_RETURN_IF_ERROR(check_paths(options));
  Reports reports;
  HEAPTAPE_ASSIGN_OR_RETURN(reports.now, read_report(options.paths.back()));
  std::vector<replayer::NamedReport> bases;
  for (size_t i = 0; i + 1 < options.paths.size(); ++i) {
    HEAPTAPE_ASSIGN_OR_RETURN(bases.emplace_back(), read_report(options.paths[i]));
  }
  replayer::add_absent_owners(bases, reports.now);
  if (!bases.empty()) reports.only_base = replayer::merged_base(std::move(bases));
  return reports;
}

base::Status check_output(const DiffOptions& options) {
  for (const std::string& path : options.paths) {
    if (!options.html_path.empty() && base::same_file(options.html_path, path)) {
      return base::Error::usage(base::quoted(path) + " is a report: write to another file");
    }
  }
  return check_writable(options.html_path);
}

Result<replayer::ReportDiff> compare(const DiffOptions& options) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::vector<replayer::Gate> gates, gates_of(options));
  HEAPTAPE_ASSIGN_OR_RETURN(const Reports reports, read_reports(options));
  HEAPTAPE_ASSIGN_OR_RETURN(
      replayer::ReportDiff diff,
      replayer::diff_reports(reports.base(), reports.now, gates, options.run, options.baseline));
  if (options.shows_all) {
    for (replayer::RunDiff& run : diff.runs) run.table_rows = run.rows.size();
    diff.lists_all_gates = true;
  }
  if (!options.html_path.empty()) {
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(
        options.html_path, replayer::diff_page(diff, reports.base(), reports.now)));
  }
  return diff;
}

}  // namespace

int run_diff(const DiffOptions& options, Console& console) {
  const base::Status can_write = check_output(options);
  if (!can_write.ok()) return console.fail(can_write.error());
  const Result<replayer::ReportDiff> diff = compare(options);
  if (!diff.ok()) return console.fail(diff.error());
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
