// Where the metrics are in report.capnp: both the reader of their values and the list of their
// names use these lists. Pulls in Cap'n Proto.
#pragma once

#include <capnp/schema.h>

#include <optional>
#include <string>
#include <vector>

#include "schema/report/report_metrics.h"

namespace heaptape::schema {

// A number of report.capnp: its path in a part of a report, and its name.
struct MetricField {
  std::string name;
  std::optional<MetricUnit> unit = {};
  std::vector<capnp::StructSchema::Field> path = {};  // from the part to the number
};

// The fields of a Run, of a State and of the recording's losses, with their paths from there.
const std::vector<MetricField>& run_fields();
const std::vector<MetricField>& state_fields();
const std::vector<MetricField>& loss_fields();

// The names of the numbers of a Latency.
const std::vector<std::string>& latency_fields();

}  // namespace heaptape::schema
