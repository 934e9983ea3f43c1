#include "replayer/diff/run_diff.h"

#include <algorithm>

namespace heaptape::replayer {
namespace {

// Not a moment of the recording, which replays do not measure.
bool is_time(const MetricRow& row) {
  return row.unit == schema::MetricUnit::kNs &&
         (row.name.starts_with("time.") || row.name.starts_with(schema::kLatencyPrefix));
}

}  // namespace

bool MetricRow::is_noise() const {
  if (!base || !now || *base == *now) return false;
  if (!base_spread && !now_spread) return is_time(*this);
  const auto spread = [](const std::optional<schema::Spread>& known,
                         const schema::MetricValue& value) {
    const auto number = static_cast<double>(schema::number_of(value));
    return known.value_or(schema::Spread{"", number, number});
  };
  const schema::Spread before = spread(base_spread, *base);
  const schema::Spread after = spread(now_spread, *now);
  return before.least <= after.greatest && after.least <= before.greatest;
}

const MetricRow* RunDiff::find(const std::string& metric) const {
  const auto found = std::ranges::find(rows, metric, &MetricRow::name);
  return found == rows.end() ? nullptr : &*found;
}

double RunDiff::change_of(const std::string& metric) const {
  const MetricRow* const row = find(metric);
  if (row == nullptr || !row->base || !row->now) return 0;
  return static_cast<double>(schema::number_of(*row->now) - schema::number_of(*row->base));
}

}  // namespace heaptape::replayer
