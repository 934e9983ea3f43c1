#include "base/parameters.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "base/name_list.h"
#include "base/near_names.h"
#include "base/quantity.h"

namespace heaptape::base {
namespace {

// `text`, or its meaning if the choices are off and on.
std::string choice_text(const std::vector<std::string>& choices, const std::string& text) {
  const std::string name = text == "0" ? "off" : text == "1" ? "on" : text;
  return std::ranges::find(choices, name) != choices.end() ? name : text;
}

std::vector<std::string> names_of(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  return names;
}

Result<uint64_t> parse_value(const Parameter& parameter, const std::string& set,
                             const std::string& text) {
  if (!parameter.choices.empty()) {
    const auto choice = std::ranges::find(parameter.choices, choice_text(parameter.choices, text));
    if (choice != parameter.choices.end()) {
      return static_cast<uint64_t>(choice - parameter.choices.begin());
    }
    return Error::usage("'" + set + "' is not valid" + did_you_mean(text, parameter.choices) +
                        "; " + parameter.name + " can be: " + name_list(parameter.choices));
  }
  if (parameter.value == Parameter::kUnset && text == parameter.default_text()) {
    return Parameter::kUnset;
  }
  const auto number = parse_quantity(text);
  if (parameter.value == Parameter::kUnset && number == Parameter::kUnset) {
    return Error::usage("'" + set + "' is out of range: " + parameter.name +
                        " must be a smaller number, or unset");
  }
  if (number && *number >= parameter.least && *number <= parameter.most) return *number;
  if (number) {
    return Error::usage("'" + set + "' is out of range: " + parameter.name + " is from " +
                        parameter.range_text());
  }
  return Error::usage("'" + set + "' is not of the form " + parameter.name +
                      "=NUMBER (64, 64KiB, 10M: below 2^64)");
}

}  // namespace

std::string Parameter::range_text() const {
  if (!choices.empty()) return name_list(choices);
  if (least == 0 && most == UINT64_MAX) return "";
  return std::to_string(least) + " to " + std::to_string(most);
}

std::string parameter_lines(const std::vector<Parameter>& parameters, const std::string& indent) {
  const auto default_of = [](const Parameter& parameter) {
    return parameter.name + "=" + parameter.default_text();
  };
  size_t width = 0;
  for (const Parameter& parameter : parameters) {
    width = std::max(width, default_of(parameter).size());
  }
  std::string text;
  for (const Parameter& parameter : parameters) {
    const std::string entry = default_of(parameter);
    text += indent + entry + std::string(width - entry.size() + 2, ' ') + parameter.description;
    const std::string range = parameter.range_text();
    text += range.empty() ? "\n" : " (" + range + ")\n";
  }
  return text;
}

Values::Values(const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    values_.emplace_back(parameter.name, parameter.value);
  }
}

uint64_t Values::operator[](const std::string& name) const {
  const auto value = std::ranges::find(values_, name, &std::pair<std::string, uint64_t>::first);
  HEAPTAPE_CHECK(value != values_.end());
  return value->second;
}

void Values::set(const std::string& name, uint64_t number) {
  const auto value = std::ranges::find(values_, name, &std::pair<std::string, uint64_t>::first);
  HEAPTAPE_CHECK(value != values_.end());
  value->second = number;
}

std::vector<std::string> split_sets(const std::string& text) {
  std::vector<std::string> sets;
  std::istringstream stream(text);
  for (std::string set; std::getline(stream, set, ',');) sets.push_back(set);
  return sets;
}

Result<Values> parse_values(const std::string& owner, const std::vector<Parameter>& parameters,
                            const std::vector<std::string>& sets) {
  Values values(parameters);
  for (const std::string& set : sets) {
    const size_t equals = std::min(set.find('='), set.size());
    const std::string name = set.substr(0, equals);
    const auto parameter = std::ranges::find(parameters, name, &Parameter::name);
    if (parameter == parameters.end()) {
      return Error::usage(owner + " has no parameter '" + name + "'" +
                          did_you_mean(name, names_of(parameters)) + "; it has " +
                          (parameters.empty() ? "none" : name_list(parameters, &Parameter::name)));
    }
    const std::string text = set.substr(std::min(equals + 1, set.size()));
    HEAPTAPE_ASSIGN_OR_RETURN(const uint64_t value, parse_value(*parameter, set, text));
    values.set(name, value);
  }
  return values;
}

}  // namespace heaptape::base
