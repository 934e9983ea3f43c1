#include "schema/json_escapes.h"

#include <kj/encoding.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace heaptape::schema {
namespace {

constexpr size_t kEscapeLength = 6;  // of \uXXXX
constexpr char16_t kReplacement = 0xfffd;

// The unit of UTF-16 that the escape at `at` stands for; nothing if there is none.
std::optional<char16_t> unit_at(std::string_view json, size_t at) {
  const std::string_view escape = json.substr(at, kEscapeLength);
  if (escape.size() != kEscapeLength || !escape.starts_with("\\u")) return std::nullopt;
  uint16_t unit = 0;
  const auto [end, error] = std::from_chars(&escape[2], escape.data() + kEscapeLength, unit, 16);
  if (error != std::errc() || end != escape.data() + kEscapeLength) return std::nullopt;
  return unit;
}

bool is_high_half(char16_t unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}
bool is_low_half(char16_t unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

// Appends what the units, one or two, mean.
void append(std::string& out, std::u16string_view units) {
  const char16_t first = units[0];
  if (first == 0) {
    out += "\\u0000";  // the codec takes a plain NUL for the end
  } else if (first == '"' || first == '\\') {
    out += '\\';
    out += static_cast<char>(first);
  } else {
    const auto utf8 = kj::decodeUtf16(kj::arrayPtr(units.data(), units.size()));
    out.append(utf8.begin(), utf8.size());
  }
}

}  // namespace

std::string without_unicode_escapes(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool is_string = false;
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') is_string = !is_string;
    if (!is_string || json[at] != '\\') {
      out += json[at++];
      continue;
    }
    const auto unit = unit_at(json, at);
    if (!unit) {  // another escape, of two characters
      out += json.substr(at, 2);
      at += 2;
      continue;
    }
    at += kEscapeLength;
    const auto next = is_high_half(*unit) ? unit_at(json, at) : std::nullopt;
    if (next && is_low_half(*next)) {
      at += kEscapeLength;
      append(out, std::u16string{*unit, *next});
    } else {
      const bool is_half = is_high_half(*unit) || is_low_half(*unit);
      append(out, std::u16string{is_half ? kReplacement : *unit});
    }
  }
  return out;
}

}  // namespace heaptape::schema
