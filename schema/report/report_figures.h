// From a report in memory to its figures. Pulls in generated code, as report_json.h does.
#pragma once

#include "schema/report/report.capnp.h"
#include "schema/report/report_metrics.h"

namespace heaptape::schema {

// Throw kj::Exception only on a damaged message, which a report built or parsed here never is.
RunFigures figures_of(wire::Run::Reader run);
ReportFigures figures_of(wire::Report::Reader report);

}  // namespace heaptape::schema
