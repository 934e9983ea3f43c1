// Makes reports, and the figures of reports, for tests. Free of Cap'n Proto.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "replayer/diff/diff.h"
#include "schema/report/report_metrics.h"

namespace heaptape::tests {

// The JSON of a report of two runs, "glibc" and "buddy", with every field filled in.
std::string sample_report_json();

using NamedMetric = std::pair<std::string, schema::MetricValue>;

schema::RunFigures run_figures(const std::string& label,
                               std::initializer_list<NamedMetric> metrics = {});

replayer::NamedReport named_report(const std::string& path,
                                   std::initializer_list<schema::RunFigures> runs,
                                   uint64_t events = 1000);

}  // namespace heaptape::tests
