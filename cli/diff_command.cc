#include "cli/commands.h"

#include <ostream>
#include <utility>

#include "cli/wrong_file.h"
#include "replayer/report/gate.h"
#include "schema/report/report_metrics.h"

namespace heaptape::cli {
namespace {

using base::Result;

Result<schema::ReportFigures> read_report(const std::string& path) {
  auto figures = schema::read_figures(path);
  if (!figures.ok()) return not_a_report(figures.error(), path);
  return figures;
}

Result<replayer::ReportDiff> compare(const DiffOptions& options) {
  std::vector<replayer::Gate> gates;  // first: a misspelt gate is known before any file is read
  for (const std::string& expression : options.fail_if) {
    HEAPTAPE_ASSIGN_OR_RETURN(replayer::Gate gate, replayer::parse_gate(expression));
    gates.push_back(std::move(gate));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures base, read_report(options.base_path));
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures now, read_report(options.new_path));
  return replayer::diff_reports({options.base_path, std::move(base)},
                                {options.new_path, std::move(now)}, gates, options.run);
}

}  // namespace

int run_diff(const DiffOptions& options, Console& console) {
  const Result<replayer::ReportDiff> diff = compare(options);
  if (!diff.ok()) return console.fail(diff.error());
  const Result<std::string> text = replayer::format_diff(*diff, options.format);
  if (!text.ok()) return console.fail(text.error());
  // In the text itself, too: but other formats go to files, which nobody looks at now.
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
