// JSON for the data of a page: compact, and safe between <script> and </script>.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heaptape::replayer {

// Writes one value after the other; the caller must close containers and name each value of an
// object. Accepts text of any bytes. The output is UTF-8 without '<', so it contains neither an end
// of its element nor a comment; nothing in it changes the direction of text.
class JsonWriter {
 public:
  // The result, once all containers are closed.
  const std::string& text() const { return text_; }

  void open_object() { open('{'); }
  void close_object() { close('}'); }
  void open_list() { open('['); }
  void close_list() { close(']'); }
  // Names the next value in an object.
  void name(std::string_view name);

  void string(const std::string& text);  // as display_text
  // Beyond 2^53, which JavaScript cannot represent exactly, writes a string of digits.
  void number(uint64_t number);
  void number(double number);      // null unless finite
  void address(uint64_t address);  // a string of hexadecimal digits
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void null() { raw("null"); }
  // Writes a value that is already JSON.
  void json(const std::string& text);

  template <typename Value>
  void field(std::string_view name_of_it, const Value& value) {
    name(name_of_it);
    put(value);
  }
  void list(const std::vector<uint64_t>& numbers);
  void list(const std::vector<std::string>& strings);

 private:
  void put(const std::string& value) { string(value); }
  void put(const char* value) { string(value); }
  void put(bool value) { boolean(value); }
  void put(double value) { number(value); }
  template <std::unsigned_integral Number>
  void put(Number value) {
    number(uint64_t{value});
  }
  void open(char bracket);
  void close(char bracket);
  void raw(std::string_view value);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace heaptape::replayer
