#include "replayer/report/html/metric_data.h"

#include <variant>

namespace heaptape::replayer {

void write_value(JsonWriter& out, const std::optional<schema::MetricValue>& value) {
  if (!value) return out.null();
  std::visit([&out](auto number) { out.number(number); }, *value);
}

}  // namespace heaptape::replayer
