// Named values that a model or a scenario takes: "name=value". docs/architecture.md, "Options".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace heaptape::base {

struct Parameter {
  // The default "unset" of a number: users see and type that word.
  static constexpr uint64_t kUnset = UINT64_MAX;

  std::string name;
  uint64_t value = 0;  // the default; for a choice, its index in `choices`
  std::string description;
  std::vector<std::string> choices = {};  // empty: a number
  uint64_t least = 0;                     // for a number, as is `most`
  uint64_t most = UINT64_MAX;

  // The default as a user would write it.
  std::string default_text() const {
    if (!choices.empty()) return choices[value];
    return value == kUnset ? "unset" : std::to_string(value);
  }
  // The choices, or the range of a number; empty if any number is valid.
  std::string range_text() const;
};

// A choice. `Enum` has an enumerator for each of `choices`, in order.
template <typename Enum>
Parameter choice(std::string name, Enum value, std::string description,
                 std::vector<std::string> choices) {
  return {std::move(name), static_cast<uint64_t>(value), std::move(description),
          std::move(choices)};
}

// A choice of "off" and "on", for which users may also type 0 and 1.
enum class Switch : uint64_t { kOff, kOn };
inline Parameter on_off(std::string name, Switch value, std::string description) {
  return choice(std::move(name), value, std::move(description), {"off", "on"});
}

// One line each: `indent`, the defaults in a column, then the meaning and the other values.
std::string parameter_lines(const std::vector<Parameter>& parameters, const std::string& indent);

// The values of a whole list of parameters, in its order.
class Values {
 public:
  Values() = default;
  // The defaults.
  explicit Values(const std::vector<Parameter>& parameters);

  // `name` must be one of the parameters.
  uint64_t operator[](const std::string& name) const;
  // The value of a choice().
  template <typename Enum>
  Enum get(const std::string& name) const {
    return static_cast<Enum>((*this)[name]);
  }
  // The value of an on_off().
  bool is_on(const std::string& name) const { return get<Switch>(name) == Switch::kOn; }
  void set(const std::string& name, uint64_t value);

 private:
  std::vector<std::pair<std::string, uint64_t>> values_;
};

// The pieces of "name=value,name=value".
std::vector<std::string> split_sets(const std::string& text);

// The defaults, changed by `sets`: "name=value" each, the value one of the parameter's choices (0
// and 1 stand for off and on), or a number with or without a unit (base/quantity.h) and within its
// range, or "unset" if that is the default. `owner` is for the message: "the scenario 'fill'".
// Fails with kUsage.
Result<Values> parse_values(const std::string& owner, const std::vector<Parameter>& parameters,
                            const std::vector<std::string>& sets);

}  // namespace heaptape::base
