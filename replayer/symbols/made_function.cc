#include "replayer/symbols/made_function.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace heaptape::replayer {
namespace {

// Removes ":NUMBER" from the end of `text`.
std::optional<uint32_t> take_number(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  text = text.substr(0, colon);
  return number;
}

std::optional<SourceFrame> python_function(std::string_view name) {
  constexpr std::string_view kPrefix = "py::";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return SourceFrame{std::string(name.substr(0, colon)), std::string(name.substr(colon + 1)), 0};
}

// Where the function ends in "parse /srv/app.js" and in "get size /srv/app.js"; npos if nowhere. A
// function may itself be called `get`: no property has a path's or a scheme's characters.
size_t find_end_of_function(std::string_view name) {
  const size_t first = name.find(' ');
  const std::string_view word = name.substr(0, first);
  if (first == std::string_view::npos || (word != "get" && word != "set")) return first;
  const size_t second = name.find(' ', first + 1);
  if (second == std::string_view::npos) return first;
  const std::string_view property = name.substr(first + 1, second - first - 1);
  return property.find_first_of("/:\\") == std::string_view::npos ? second : first;
}

std::optional<SourceFrame> script_function(std::string_view name) {
  constexpr auto kPrefixes =
      std::to_array<std::string_view>({"JS:", "Eval:", "Function:", "LazyCompile:", "Script:"});
  const auto prefix = std::ranges::find_if(
      kPrefixes, [name](std::string_view known) { return name.starts_with(known); });
  if (prefix == kPrefixes.end()) return std::nullopt;
  name.remove_prefix(prefix->size());
  name.remove_prefix(std::min(name.find_first_not_of("~^+*'"), name.size()));
  const size_t blank = find_end_of_function(name);
  if (blank == std::string_view::npos) return std::nullopt;
  std::string_view file = name.substr(blank + 1);
  const auto column = take_number(file);
  const auto line = column ? take_number(file) : std::nullopt;
  if (!line) return std::nullopt;
  const std::string_view function = name.substr(0, blank);
  const bool has_name = !function.empty();
  return SourceFrame{has_name ? std::string(function) : "(anonymous)", std::string(file), *line};
}

}  // namespace

SourceFrame made_function(std::string_view name) {
  if (auto found = python_function(name)) return *found;
  if (auto found = script_function(name)) return *found;
  return {std::string(name), "", 0};
}

}  // namespace heaptape::replayer
