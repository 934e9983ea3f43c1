#include "base/quantity.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace heaptape::base {
namespace {

constexpr Unit kUnits[] = {
    {"B", 1, true},
    {"KiB", uint64_t{1} << 10, true},
    {"MiB", uint64_t{1} << 20, true},
    {"GiB", uint64_t{1} << 30, true},
    {"TiB", uint64_t{1} << 40, true},
    {"KB", 1'000, true},
    {"kB", 1'000, true},
    {"MB", 1'000'000, true},
    {"GB", 1'000'000'000, true},
    {"TB", 1'000'000'000'000, true},
    {"k", 1'000, false},
    {"M", 1'000'000, false},
    {"G", 1'000'000'000, false},
};
constexpr Unit kNoUnit = {"", 1, false};

// Six decimal places: with the largest unit they stay below 2^64.
constexpr uint64_t kMaxFractionScale = 1'000'000;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Number {
  uint64_t whole = 0;
  uint64_t fraction = 0;        // in units of 1 / fraction_scale
  uint64_t fraction_scale = 1;  // a power of 10
  std::string_view rest;
};

std::optional<Number> parse_number(std::string_view text) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.whole);
  if (error != std::errc()) return std::nullopt;
  number.rest = text.substr(static_cast<size_t>(end - text.data()));
  if (number.rest.size() < 2 || number.rest[0] != '.' || !is_digit(number.rest[1])) return number;
  number.rest.remove_prefix(1);
  for (; !number.rest.empty() && is_digit(number.rest[0]); number.rest.remove_prefix(1)) {
    if (number.fraction_scale == kMaxFractionScale) return std::nullopt;
    number.fraction_scale *= 10;
    number.fraction = number.fraction * 10 + static_cast<uint64_t>(number.rest[0] - '0');
  }
  return number;
}

std::optional<uint64_t> scale(const Number& number, uint64_t factor) {
  if (number.whole > UINT64_MAX / factor) return std::nullopt;
  const uint64_t whole = number.whole * factor;
  const uint64_t parts = number.fraction * factor;
  if (parts % number.fraction_scale != 0) return std::nullopt;
  const uint64_t fraction = parts / number.fraction_scale;
  if (fraction > UINT64_MAX - whole) return std::nullopt;
  return whole + fraction;
}

std::optional<uint64_t> parse(std::string_view text, bool with_bytes) {
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  const Unit* const unit = number->rest.empty() ? &kNoUnit : find_unit(number->rest);
  if (unit == nullptr || (unit->is_bytes && !with_bytes)) return std::nullopt;
  return scale(*number, unit->factor);
}

}  // namespace

const Unit* find_unit(std::string_view name) {
  const auto unit = std::ranges::find(kUnits, name, &Unit::name);
  return unit == std::end(kUnits) ? nullptr : unit;
}

std::optional<uint64_t> parse_quantity(std::string_view text) {
  return parse(text, true);
}

std::optional<uint64_t> parse_count(std::string_view text) {
  return parse(text, false);
}

std::optional<uint64_t> parse_time(std::string_view text) {
  constexpr std::pair<std::string_view, double> kTimes[] = {
      {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};  // "ms" before "s"
  const auto* const unit =
      std::ranges::find_if(kTimes, [text](const auto& one) { return text.ends_with(one.first); });
  if (unit == std::end(kTimes) || text.starts_with('-')) return std::nullopt;
  text.remove_suffix(unit->first.size());
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  const double ns = number * unit->second;
  if (!(ns >= 0) || ns >= 0x1p63) return std::nullopt;
  return static_cast<uint64_t>(std::llround(ns));
}

}  // namespace heaptape::base
