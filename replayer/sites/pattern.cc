#include "replayer/sites/pattern.h"

#include "base/display_text.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kMostPatternBytes = 1024;
constexpr size_t kMostTextBytes = 2048;

base::Error bad_pattern(const std::string& text, const char* reason) {
  return base::Error::usage(base::quoted(text) + " is not a regular expression: " + reason);
}

}  // namespace

base::Result<Pattern> Pattern::make(const std::string& text) {
  if (text.empty()) return bad_pattern(text, "it is empty");
  if (text.size() > kMostPatternBytes) return bad_pattern(text, "it is too long");
  try {
    return Pattern(std::regex(text, std::regex::ECMAScript | std::regex::optimize));
  } catch (const std::regex_error&) {
    return bad_pattern(
        text, "put a backslash before characters such as ( [ { * + ? to match them literally");
  }
}

bool Pattern::is_in(std::string_view text) const {
  text = text.substr(0, kMostTextBytes);
  try {
    return std::regex_search(text.begin(), text.end(), regex_);
  } catch (const std::regex_error&) {  // too complex for this text
    return false;
  }
}

}  // namespace heaptape::replayer
