// Figures of a report as text for tables; see base/number_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// The two heading lines of a metric's column: "at peak" and "resident hole" for
// atPeak.residentHoleBytes. Omits "bytes", because values have units.
struct MetricHeading {
  std::string group;
  std::string name;
};
MetricHeading heading_of(const std::string& metric);

// "plateau" for "atPlateau", "end" for "end".
std::string moment_of_state(const std::string& state);

double ratio(uint64_t part, uint64_t whole);  // 0 if `whole` is 0

// "12.3%"; a nonzero share never prints as 0.0%. "-" if `whole` is 0.
std::string share_text(uint64_t part, uint64_t whole);

// The same for a share that may be negative or above 1: "-12.3%".
std::string signed_share_text(double share);

// A figure in a table, in its unit; "-" if absent.
std::string value_text(const std::optional<schema::MetricValue>& value, schema::MetricUnit unit);

// Loses no digit that a reader could miss: "12,897,484 B", "81.234 ns".
std::string exact_text(long double number, schema::MetricUnit unit);

// From `base` to `now`: "+1.2 MiB", "-3", "0"; "-" if either is absent.
std::string change_text(const std::optional<schema::MetricValue>& base,
                        const std::optional<schema::MetricValue>& now, schema::MetricUnit unit);

// The same in percent of `base`: "+5.00%", "0.00%", "from 0"; "-" if either is absent.
std::string percent_text(const std::optional<schema::MetricValue>& base,
                         const std::optional<schema::MetricValue>& now);

// "+5.00%", "0.00%", "<+0.01%".
std::string percent_text(double percent);

// (now - base) / base * 100, or relative to |base| if `base` is negative. Nothing if `base` is 0
// and `now` is not.
std::optional<double> percent_change(const schema::MetricValue& base,
                                     const schema::MetricValue& now);

}  // namespace heaptape::replayer
