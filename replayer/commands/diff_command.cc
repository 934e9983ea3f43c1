#include "replayer/commands/diff_command.h"

#include <ostream>
#include <utility>

#include "replayer/commands/command_io.h"
#include "replayer/report/gate.h"
#include "schema/report_metrics.h"

namespace heaptape::replayer {
namespace {

using schema::Result;

Result<ReportDiff> compare(const DiffOptions& options) {
  std::vector<Gate> gates;  // first: a misspelt gate is known before any file is read
  for (const std::string& expression : options.fail_if) {
    HEAPTAPE_ASSIGN_OR_RETURN(Gate gate, parse_gate(expression));
    gates.push_back(std::move(gate));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures base, schema::read_figures(options.base_path));
  HEAPTAPE_ASSIGN_OR_RETURN(schema::ReportFigures now, schema::read_figures(options.new_path));
  return diff_reports({options.base_path, std::move(base)}, {options.new_path, std::move(now)},
                      gates, options.run);
}

}  // namespace

int run_diff(const DiffOptions& options, std::ostream& out, std::ostream& err) {
  const Result<ReportDiff> diff = compare(options);
  if (!diff.ok()) return complain(err, diff.error());
  const Result<std::string> text = format_diff(*diff, options.format);
  if (!text.ok()) return complain(err, text.error());
  out << *text;
  return finish(out, err, diff->failed ? kExitFailed : kExitDone);
}

}  // namespace heaptape::replayer
