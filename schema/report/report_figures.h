// Extracts the figures from a report in memory. Pulls in generated code, as report_json.h does.
#pragma once

#include "schema/report/report.capnp.h"
#include "schema/report/report_metrics.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::schema {

class ParsedReport;  // report_json.h

// Call inside guard_kj: they throw kj::Exception if the message is damaged.
RunFigures figures_of(wire::Run::Reader run);
SiteFigures figures_of(wire::TapeSites::Reader sites);
ReportFigures figures_of(wire::Report::Reader report);
// Without the numbers that the report's text omits.
ReportFigures figures_of(const ParsedReport& report);
TimelineFigures timeline_of(wire::Run::Reader run);
void set_stack_tree(wire::StackTree::Builder out, const StackTree& tree);
std::optional<StackTree> stack_tree_of(wire::StackTree::Reader in);  // nothing if it is not a tree

}  // namespace heaptape::schema
