// Numbers as people read them: 1,234,567; 12.3 MiB; 81.2 ns; +5.00%. ASCII only, so that the bytes
// of a text are its columns. For tables; files for machines hold plain numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/report_metrics.h"

namespace heaptape::replayer {

std::string grouped(uint64_t number);    // "1,234,567"
std::string bytes_text(uint64_t bytes);  // "512 B", "12.3 MiB"
std::string duration_text(double ns);    // "81.2 ns", "1.50 ms"
std::string ratio_text(double ratio);    // "0.1234"

// A figure in a table, in its unit; "-" for one that is not there.
std::string value_text(const std::optional<schema::MetricValue>& value, schema::MetricUnit unit);

// The same with nothing rounded away that a reader could miss: "12,897,484 B", "81.234 ns".
std::string exact_text(const std::optional<schema::MetricValue>& value, schema::MetricUnit unit);
std::string exact_text(long double number, schema::MetricUnit unit);

// From `base` to `now`: "+1.2 MiB", "-3", "0"; "-" if either is not there.
std::string change_text(const std::optional<schema::MetricValue>& base,
                        const std::optional<schema::MetricValue>& now, schema::MetricUnit unit);

// The same in percent of `base`: "+5.00%", "0.00%", "from 0"; "-" if either is not there.
std::string percent_text(const std::optional<schema::MetricValue>& base,
                         const std::optional<schema::MetricValue>& now);

// (now - base) / base * 100, against the size of `base` where that is negative. Nothing if `base`
// is 0 and `now` is not.
std::optional<double> percent_change(const schema::MetricValue& base,
                                     const schema::MetricValue& now);

}  // namespace heaptape::replayer
