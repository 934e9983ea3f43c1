// From a report in memory to its figures. Pulls in generated code, as report_json.h does.
#pragma once

#include "schema/report/report.capnp.h"
#include "schema/report/report_metrics.h"

namespace heaptape::schema {

// Call inside guard_kj: they throw kj::Exception where the message is damaged.
RunFigures figures_of(wire::Run::Reader run);
SiteFigures figures_of(wire::TapeSites::Reader sites);
ReportFigures figures_of(wire::Report::Reader report);

}  // namespace heaptape::schema
