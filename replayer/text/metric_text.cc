#include "replayer/text/metric_text.h"

#include <cmath>

#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::MetricValue;

const char* exact_suffix(MetricUnit unit) {
  if (unit == MetricUnit::kBytes) return " B";
  if (unit == MetricUnit::kNs) return " ns";
  return "";
}

// `size` is not negative.
std::string size_text(const MetricValue& size, MetricUnit unit) {
  const long double number = schema::number_of(size);
  if (unit == MetricUnit::kNs) return base::duration_text(static_cast<double>(number));
  if (unit == MetricUnit::kRatio) return base::ratio_text(static_cast<double>(number));
  if (!schema::is_integer(size)) return base::format_text("%.2Lf", number) + exact_suffix(unit);
  const uint64_t integer = std::get<uint64_t>(size);
  return unit == MetricUnit::kBytes ? base::bytes_text(integer) : base::grouped(integer);
}

// "residentHoleBytes" -> "resident hole bytes".
std::string words(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      text += std::string(" ") + static_cast<char>(c - 'A' + 'a');
    } else {
      text += c;
    }
  }
  return text;
}

MetricValue absolute(const MetricValue& value) {
  if (schema::is_integer(value)) return value;
  return std::fabs(std::get<double>(value));
}

// |now - base|, as an integer if both are.
MetricValue distance(const MetricValue& base, const MetricValue& now) {
  if (!schema::is_integer(base) || !schema::is_integer(now)) {
    return static_cast<double>(std::fabs(schema::number_of(now) - schema::number_of(base)));
  }
  const auto from = std::get<uint64_t>(base);
  const auto to = std::get<uint64_t>(now);
  return to > from ? to - from : from - to;
}

}  // namespace

MetricHeading heading_of(const std::string& metric) {
  const size_t first_dot = metric.find('.');
  std::string name = words(metric.substr(metric.rfind('.') + 1));
  if (name.ends_with(" bytes")) name.erase(name.size() - std::string(" bytes").size());
  return {first_dot == metric.npos ? "" : words(metric.substr(0, first_dot)), name};
}

std::string moment_of_state(const std::string& state) {
  const std::string group = heading_of(state + ".").group;  // "at plateau", "end"
  return group.starts_with("at ") ? group.substr(3) : group;
}

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string share_text(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  const double percent = ratio(part, whole) * 100;
  return part != 0 && percent < 0.05 ? "<0.1%" : base::format_text("%.1f%%", percent);
}

std::string signed_share_text(double share) {
  const double percent = share * 100;
  if (percent == 0 || std::fabs(percent) >= 0.05) return base::format_text("%.1f%%", percent);
  return percent > 0 ? "<0.1%" : ">-0.1%";
}

std::string value_text(const std::optional<MetricValue>& value, MetricUnit unit) {
  if (!value) return "-";
  return (schema::number_of(*value) < 0 ? "-" : "") + size_text(absolute(*value), unit);
}

std::string exact_text(long double number, MetricUnit unit) {
  const char* sign = number < 0 ? "-" : "";
  const long double size = std::fabs(number);
  const bool is_whole = std::floor(size) == size && size < 1e20L;
  const std::string digits = is_whole ? base::grouped_digits(base::format_text("%.0Lf", size))
                                      : base::format_text("%.9Lg", size);
  return sign + digits + exact_suffix(unit);
}

std::string change_text(const std::optional<MetricValue>& base,
                        const std::optional<MetricValue>& now, MetricUnit unit) {
  if (!base || !now) return "-";
  const long double change = schema::number_of(*now) - schema::number_of(*base);
  if (change == 0) return "0";
  return (change < 0 ? "-" : "+") + size_text(distance(*base, *now), unit);
}

std::string percent_text(const std::optional<MetricValue>& base,
                         const std::optional<MetricValue>& now) {
  if (!base || !now) return "-";
  const std::optional<double> percent = percent_change(*base, *now);
  return percent ? percent_text(*percent) : "from 0";
}

std::string percent_text(double percent) {
  if (percent == 0) return "0.00%";
  if (std::fabs(percent) < 0.005) return percent > 0 ? "<+0.01%" : ">-0.01%";
  return base::format_text("%+.2f%%", percent);
}

std::optional<double> percent_change(const MetricValue& base, const MetricValue& now) {
  const long double from = schema::number_of(base);
  const long double to = schema::number_of(now);
  if (from == to) return 0;
  if (from == 0) return std::nullopt;
  return static_cast<double>((to - from) * 100 / std::fabs(from));
}

}  // namespace heaptape::replayer
