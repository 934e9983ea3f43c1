#include "cli/commands.h"

#include <ostream>
#include <utility>

#include "replayer/report/gate.h"
#include "schema/report/report_metrics.h"

namespace heaptape::cli {
namespace {

using base::Result;

Result<replayer::ReportDiff> compare(const DiffOptions& options) {
  std::vector<replayer::Gate> gates;  // first: a misspelt gate is known before any file is read
  for (const std::string& expression : options.fail_if) {
    HEAPTAPE_ASSIGN_OR_RETURN(replayer::Gate gate, replayer::parse_gate(expression));
    gates.push_back(std::move(gate));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures base, schema::read_figures(options.base_path));
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures now, schema::read_figures(options.new_path));
  return replayer::diff_reports({options.base_path, std::move(base)},
                                {options.new_path, std::move(now)}, gates, options.run);
}

}  // namespace

int run_diff(const DiffOptions& options, Console& console) {
  const Result<replayer::ReportDiff> diff = compare(options);
  if (!diff.ok()) return console.fail(diff.error());
  const Result<std::string> text = replayer::format_diff(*diff, options.format);
  if (!text.ok()) return console.fail(text.error());
  console.out() << *text;
  return console.finish(diff->failed ? kExitFailed : kExitDone);
}

}  // namespace heaptape::cli
