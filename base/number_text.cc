#include "base/number_text.h"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace heaptape::base {
namespace {

struct Scale {
  double step;  // how many of one unit make the next
  std::array<const char*, 5> units;
};

constexpr Scale kByteScale = {1024, {"B", "KiB", "MiB", "GiB", "TiB"}};
constexpr Scale kTimeScale = {1000, {"ns", "us", "ms", "s", nullptr}};

BytesStyle bytes_style = BytesStyle::kScaled;

// At least three digits: "1.50", "12.3", "123.4". Moves to the next unit if rounding would reach it
// ("1.00 MiB", not "1024.0 KiB").
// `Real`: the arithmetic, which decides ties. For times it is that of the pages' scripts.
template <typename Real>
struct Scaled {
  Real number;
  Real unit;  // in the smallest
  int digits;
  const char* name;
};

template <typename Real>
Scaled<Real> scale_to(Real number, const Scale& scale) {
  const auto step = static_cast<Real>(scale.step);
  Real size = 1;
  size_t unit = 0;
  while (unit + 1 < scale.units.size() && scale.units[unit + 1] != nullptr &&
         number >= step - Real{0.05}) {
    number /= step;
    size *= step;
    ++unit;
  }
  return {number, size, number < Real{9.995} ? 2 : 1, scale.units[unit]};
}

template <typename Real>
std::string scaled(Real number, const Scale& scale) {
  const Scaled<Real> in_unit = scale_to(number, scale);
  return format_text("%.*Lf %s", in_unit.digits, static_cast<long double>(in_unit.number),
                     in_unit.name);
}

}  // namespace

std::string format_text(const char* pattern, ...) {
  char buffer[128];
  va_list arguments;
  va_start(arguments, pattern);
  vsnprintf(buffer, sizeof buffer, pattern, arguments);
  va_end(arguments);
  return buffer;
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<uint8_t>(byte);
    text += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return text;
}

std::string grouped_digits(std::string digits) {
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string grouped(uint64_t number) {
  return grouped_digits(std::to_string(number));
}

std::string counted(uint64_t count, const char* thing) {
  return grouped(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string bytes_text(uint64_t bytes) {
  if (bytes_style == BytesStyle::kExact) return grouped(bytes) + " B";
  if (bytes < 1024) return std::to_string(bytes) + " B";
  return scaled(static_cast<long double>(bytes), kByteScale);
}

std::string estimated_bytes_text(uint64_t bytes, uint64_t error) {
  std::string text = bytes_text(bytes);
  if (error == 0) return text;
  if (bytes_style == BytesStyle::kExact || bytes < 1024) return text + " +- " + grouped(error);
  const auto in_unit = scale_to(static_cast<long double>(bytes), kByteScale);
  const long double parts = in_unit.digits == 2 ? 100 : 10;
  const long double rounded_up =
      std::ceil(static_cast<long double>(error) / in_unit.unit * parts) / parts;
  return text + format_text(" +- %.*Lf", in_unit.digits, rounded_up);
}

std::string estimated_text(uint64_t count, uint64_t error) {
  return grouped(count) + (error == 0 ? "" : " +- " + grouped(error));
}

void set_bytes_style(BytesStyle style) {
  bytes_style = style;
}

std::string duration_text(double ns) {
  if (ns < 0) return "-" + duration_text(-ns);
  return scaled(ns, kTimeScale);
}

std::string ratio_text(double ratio) {
  return format_text("%.4f", ratio);
}

}  // namespace heaptape::base
