#include "base/display_text.h"

#include <kj/encoding.h>

#include <algorithm>
#include <utility>

#include "base/number_text.h"

namespace heaptape::base {
namespace {

constexpr char32_t kReplacement = 0xfffd;

// kj keeps lone surrogates, which UTF-8 does not allow.
bool is_surrogate(char32_t point) {
  return point >= 0xd800 && point <= 0xdfff;
}

// Marks, not letters, that turn the direction of surrounding text (UAX #9).
bool is_direction_mark(char32_t point) {
  return point == 0x061c || point == 0x200e || point == 0x200f ||
         (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

bool is_unprintable(char32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0xfffe || point == 0xffff ||
         point == 0x2028 || point == 0x2029 ||  // line and paragraph separators
         is_direction_mark(point);
}

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

template <typename Bad>
std::string replace_points(const std::string& text, Bad&& is_bad) {
  auto points = kj::encodeUtf32(kj::arrayPtr(text.data(), text.size()));
  std::replace_if(points.begin(), points.end(), is_bad, kReplacement);
  const auto result = kj::decodeUtf32(points);
  return {result.begin(), result.size()};
}

}  // namespace

std::string valid_utf8(std::string text) {
  if (!kj::encodeUtf32(kj::arrayPtr(text.data(), text.size())).hadErrors) return text;
  return replace_points(text, is_surrogate);
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += format_text("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string display_text(std::string text) {
  if (is_plain(text)) return text;
  return replace_points(text, [](char32_t p) { return is_surrogate(p) || is_unprintable(p); });
}

std::string undirected(std::string text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return text;
  return replace_points(text, [](char32_t p) { return is_surrogate(p) || is_direction_mark(p); });
}

std::string quoted(std::string text) {
  return "'" + display_text(std::move(text)) + "'";
}

std::string command_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n\"'\\$`*?;&|<>(){}#") == std::string::npos;
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return display_text(text);
}

}  // namespace heaptape::base
