// The words of a line of a trace, from left to right.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace heaptape::recorder {

// Each call consumes what it reads, and nothing if it returns false. is_done() tells a truncated
// line from a whole one.
class TraceWords {
 public:
  explicit TraceWords(std::string_view line) : rest_(line) {}

  bool decimal(uint64_t& number) { return digits(number, 10); }
  // With or without "0x"; "(nil)" is 0, as in glibc's printf.
  bool hex(uint64_t& number) {
    if (text("(nil)")) {
      number = 0;
      return true;
    }
    const std::string_view before = rest_;
    if (rest_.starts_with("0x") || rest_.starts_with("0X")) rest_.remove_prefix(2);
    if (digits(number, 16)) return true;
    rest_ = before;
    return false;
  }
  bool text(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  // One or more.
  bool blanks() {
    const size_t count = rest_.find_first_not_of(" \t");
    if (rest_.empty() || count == 0) return false;
    rest_.remove_prefix(count == std::string_view::npos ? rest_.size() : count);
    return true;
  }
  // Up to `end`, which is consumed.
  bool until(char end, std::string_view& word) {
    const size_t bytes = rest_.find(end);
    if (bytes == std::string_view::npos) return false;
    word = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes + 1);
    return true;
  }
  std::string_view rest() const { return rest_; }
  // Only blanks are left.
  bool is_done() const { return rest_.find_first_not_of(" \t") == std::string_view::npos; }

 private:
  bool digits(uint64_t& number, int base) {
    const char* const end = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), end, number, base);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(stop - rest_.data()));
    return true;
  }

  std::string_view rest_;
};

}  // namespace heaptape::recorder
