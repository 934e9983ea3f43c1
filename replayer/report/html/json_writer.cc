#include "replayer/report/html/json_writer.h"

#include <cmath>

#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kMostExact = uint64_t{1} << 53;

}  // namespace

void JsonWriter::raw(std::string_view value) {
  if (needs_comma_) text_ += ',';
  text_ += value;
  needs_comma_ = true;
}

void JsonWriter::open(char bracket) {
  raw({&bracket, 1});
  needs_comma_ = false;
}

void JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::name(std::string_view name) {
  string(std::string(name));
  text_ += ':';
  needs_comma_ = false;
}

void JsonWriter::string(const std::string& text) {
  json(base::json_string(base::display_text(text)));
}

// In JSON, '<' occurs only in strings, where it can be escaped.
void JsonWriter::json(const std::string& text) {
  std::string escaped;
  for (const char c : base::undirected(text)) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  raw(escaped);
}

void JsonWriter::number(uint64_t number) {
  const std::string digits = std::to_string(number);
  raw(number > kMostExact ? '"' + digits + '"' : digits);
}

void JsonWriter::address(uint64_t address) {
  string(base::format_text("%llx", static_cast<unsigned long long>(address)));
}

void JsonWriter::number(double number) {
  if (!std::isfinite(number)) return null();
  raw(base::format_text("%.17g", number));
}

void JsonWriter::list(const std::vector<uint64_t>& numbers) {
  open_list();
  for (const uint64_t value : numbers) number(value);
  close_list();
}

void JsonWriter::list(const std::vector<std::string>& strings) {
  open_list();
  for (const std::string& value : strings) string(value);
  close_list();
}

}  // namespace heaptape::replayer
