// A figure of a run as a page's data has it.
#pragma once

#include <optional>

#include "replayer/report/html/json_writer.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// Null where there is none.
void write_value(JsonWriter& out, const std::optional<schema::MetricValue>& value);

}  // namespace heaptape::replayer
