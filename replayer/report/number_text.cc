#include "replayer/report/number_text.h"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace heaptape::replayer {
namespace {

using schema::MetricUnit;
using schema::MetricValue;

struct Scale {
  long double step;  // how many of one unit make the next
  std::array<const char*, 5> units;
};

constexpr Scale kByteScale = {1024, {"B", "KiB", "MiB", "GiB", "TiB"}};
constexpr Scale kTimeScale = {1000, {"ns", "us", "ms", "s", nullptr}};

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char buffer[128];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

// Three digits or more: "1.50", "12.3", "123.4". Moves to the next unit where rounding would give a
// full one of it ("1.00 MiB", not "1024.0 KiB").
std::string scaled(long double number, const Scale& scale) {
  size_t unit = 0;
  while (unit + 1 < scale.units.size() && scale.units[unit + 1] != nullptr &&
         number >= scale.step - 0.05L) {
    number /= scale.step;
    ++unit;
  }
  const int digits = number < 9.995L ? 2 : 1;
  return format("%.*Lf %s", digits, number, scale.units[unit]);
}

std::string grouped_digits(std::string digits) {
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

const char* exact_suffix(MetricUnit unit) {
  if (unit == MetricUnit::kBytes) return " B";
  if (unit == MetricUnit::kNs) return " ns";
  return "";
}

// `size` is not negative.
std::string size_text(const MetricValue& size, MetricUnit unit) {
  const long double number = schema::number_of(size);
  if (unit == MetricUnit::kNs) return duration_text(static_cast<double>(number));
  if (unit == MetricUnit::kRatio) return ratio_text(static_cast<double>(number));
  if (!schema::is_integer(size)) return format("%.2Lf", number) + exact_suffix(unit);
  const uint64_t integer = std::get<uint64_t>(size);
  return unit == MetricUnit::kBytes ? bytes_text(integer) : grouped(integer);
}

MetricValue absolute(const MetricValue& value) {
  if (schema::is_integer(value)) return value;
  return std::fabs(std::get<double>(value));
}

// |now - base|, as an integer where both are.
MetricValue distance(const MetricValue& base, const MetricValue& now) {
  if (!schema::is_integer(base) || !schema::is_integer(now)) {
    return static_cast<double>(std::fabs(schema::number_of(now) - schema::number_of(base)));
  }
  const auto from = std::get<uint64_t>(base);
  const auto to = std::get<uint64_t>(now);
  return to > from ? to - from : from - to;
}

}  // namespace

std::string grouped(uint64_t number) {
  return grouped_digits(std::to_string(number));
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  return scaled(static_cast<long double>(bytes), kByteScale);
}

std::string duration_text(double ns) {
  if (ns < 0) return "-" + duration_text(-ns);
  return scaled(ns, kTimeScale);
}

std::string ratio_text(double ratio) {
  return format("%.4f", ratio);
}

std::string value_text(const std::optional<MetricValue>& value, MetricUnit unit) {
  if (!value) return "-";
  return (schema::number_of(*value) < 0 ? "-" : "") + size_text(absolute(*value), unit);
}

std::string exact_text(const std::optional<MetricValue>& value, MetricUnit unit) {
  return value ? exact_text(schema::number_of(*value), unit) : "-";
}

std::string exact_text(long double number, MetricUnit unit) {
  const char* sign = number < 0 ? "-" : "";
  const long double size = std::fabs(number);
  const bool is_whole = std::floor(size) == size && size < 1e20L;
  const std::string digits =
      is_whole ? grouped_digits(format("%.0Lf", size)) : format("%.9Lg", size);
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
  if (!percent) return "from 0";
  return *percent == 0 ? "0.00%" : format("%+.2f%%", *percent);
}

std::optional<double> percent_change(const MetricValue& base, const MetricValue& now) {
  const long double from = schema::number_of(base);
  const long double to = schema::number_of(now);
  if (from == to) return 0;
  if (from == 0) return std::nullopt;
  return static_cast<double>((to - from) * 100 / std::fabs(from));
}

}  // namespace heaptape::replayer
