// A figure of a run in a page's data.
#pragma once

#include <optional>

#include "replayer/report/html/json_writer.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// Writes null if absent.
void write_value(JsonWriter& out, const std::optional<schema::MetricValue>& value);

}  // namespace heaptape::replayer
