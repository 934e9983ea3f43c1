// The grammar of --fail-if; see gate.h.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/near_names.h"
#include "base/quantity.h"
#include "replayer/diff/gate.h"

namespace heaptape::replayer {
namespace {

using base::Error;
using base::Result;
using base::Status;

// Two-character operators come first so that ">=" is not read as ">".
constexpr std::pair<std::string_view, GateOp> kOps[] = {
    {">=", GateOp::kGreaterOrEqual}, {"<=", GateOp::kLessOrEqual}, {"==", GateOp::kEqual},
    {"!=", GateOp::kNotEqual},       {">", GateOp::kGreater},      {"<", GateOp::kLess},
};

using TimeUnit = std::pair<std::string_view, uint64_t>;
constexpr TimeUnit kTimeUnits[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};

// Null if there is no such unit.
const uint64_t* find_time_unit(std::string_view name) {
  const auto* const unit = std::ranges::find(kTimeUnits, name, &TimeUnit::first);
  return unit == std::end(kTimeUnits) ? nullptr : &unit->second;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// The characters of names. Allocators name counters, so it accepts more than the metrics need.
bool is_name_character(char c) {
  return c > ' ' && c < 0x7f && std::string_view("<>=!").find(c) == std::string_view::npos;
}

// "end.*" for all with that prefix.
std::vector<std::string> metric_groups() {
  std::vector<std::string> groups;
  for (const std::string& name : schema::metric_names()) {
    std::string group = name.substr(0, name.find('.')) + ".*";
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
  }
  groups.emplace_back("atMark.NAME.*");
  groups.emplace_back("atPeak.process.besideMalloc.OWNER.bytes");
  return groups;
}

std::vector<std::string> known_names(GateGrammar grammar) {
  std::vector<std::string> names = schema::metric_names();
  if (grammar == GateGrammar::kSweep) {
    names.insert(names.end(), {std::string(kFailedCells), std::string(kMeanResident)});
  }
  return names;
}

std::vector<std::string> aggregate_names() {
  std::vector<std::string> names;
  for (const Aggregate& aggregate : kAggregates) names.emplace_back(aggregate.name);
  return names;
}

class GateParser {
 public:
  GateParser(std::string_view text, GateGrammar grammar) : text_(text), grammar_(grammar) {}

  Result<Gate> parse() {
    HEAPTAPE_RETURN_IF_ERROR(parse_subject());
    HEAPTAPE_RETURN_IF_ERROR(parse_op());
    HEAPTAPE_RETURN_IF_ERROR(parse_value());
    gate_.expression = trimmed();
    return gate_;
  }

 private:
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t", at_), text_.size()); }
  std::string_view rest() const { return text_.substr(at_); }

  // The longest piece from here whose characters all satisfy `belongs`.
  template <typename Belongs>
  std::string_view take_while(Belongs&& belongs) {
    const size_t start = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  Error wrong(size_t at, const std::string& what) const {
    return Error::usage("cannot read the gate '" + base::display_text(std::string(text_)) +
                        "': column " + std::to_string(at + 1) + ": " + what);
  }
  Error expected(const std::string& what) const { return wrong(at_, "expected " + what); }

  std::string trimmed() const {
    const size_t first = text_.find_first_not_of(" \t");
    const size_t last = text_.find_last_not_of(" \t");
    return std::string(text_.substr(first, last - first + 1));
  }

  Status parse_subject() {
    skip_blanks();
    const size_t start = at_;
    if (grammar_ == GateGrammar::kDiff) return parse_metric();
    const std::string word(take_while([](char c) { return is_letter(c) || is_digit(c); }));
    const bool is_whole = at_ == text_.size() || !is_name_character(text_[at_]);
    skip_blanks();
    const bool is_known =
        std::ranges::find(kAggregates, word, &Aggregate::name) != std::end(kAggregates);
    if (rest().starts_with('(')) {
      if (is_known) return parse_aggregate(word, start);
      return wrong(start, "there is no aggregate '" + word + "'" +
                              base::did_you_mean(word, aggregate_names()) +
                              "; the aggregates are: " + base::name_list(aggregate_names()));
    }
    if (is_whole && is_known) {
      return expected("a metric in parentheses, such as " + word + "(peak.residentBytes)");
    }
    at_ = start;
    return parse_metric();
  }

  Status parse_aggregate(const std::string& word, size_t start) {
    gate_.aggregate = word;
    ++at_;
    HEAPTAPE_RETURN_IF_ERROR(parse_metric());
    if (gate_.metric == kFailedCells) {
      return wrong(start, "expected failed without an aggregate: it is a number of cells");
    }
    skip_blanks();
    if (!rest().starts_with(')')) return expected("')' after the metric");
    ++at_;
    return {};
  }

  // In an aggregate, it ends at the parenthesis that it did not open.
  Status parse_metric() {
    skip_blanks();
    const size_t start = at_;
    int open = 0;
    gate_.metric = take_while([&](char c) {
      if (c == '(') ++open;
      if (c == ')' && !gate_.aggregate.empty() && open-- == 0) return false;
      return is_name_character(c);
    });
    if (gate_.metric.empty()) return expected("a metric, such as peak.committedBytes");
    if (const auto unit = metric_unit(gate_.metric, grammar_)) {
      gate_.unit = *unit;
      return {};
    }
    return wrong(start, "there is no metric '" + gate_.metric + "'" +
                            base::did_you_mean(gate_.metric, known_names(grammar_)) +
                            "; the metrics are: " + base::name_list(metric_groups()) +
                            ", and counters.NAME for a counter of the allocator: "
                            "docs/metrics.md has them all");
  }

  Status parse_op() {
    skip_blanks();
    for (const auto& [name, op] : kOps) {
      if (!rest().starts_with(name)) continue;
      gate_.op = op;
      at_ += name.size();
      return {};
    }
    return expected(std::string("one of > >= < <= == !=") +
                    (at_ == text_.size() ? "; the shell takes > and < for itself, so quote the "
                                           "whole gate: --fail-if '" +
                                               trimmed() + " > +5%'"
                                         : ""));
  }

  char parse_sign() {
    skip_blanks();
    return rest().starts_with('+') || rest().starts_with('-') ? text_[at_++] : '\0';
  }

  Status parse_value() {
    const char sign = parse_sign();
    if (sign != 0) gate_.kind = GateKind::kChange;
    HEAPTAPE_ASSIGN_OR_RETURN(gate_.value, parse_number(sign));
    skip_blanks();
    if (!rest().starts_with('%')) {
      HEAPTAPE_RETURN_IF_ERROR(parse_unit(gate_.value));
      return check_end(gate_.value);
    }
    if (gate_.kind != GateKind::kChange) {
      return expected("no %: a percentage is a change and has a sign, such as +5%");
    }
    if (gate_.metric == kFailedCells) return expected("no %: failed is a number of cells");
    gate_.kind = GateKind::kPercent;
    ++at_;
    return parse_extra(sign);
  }

  // "+1MiB", or nothing.
  Status parse_extra(char sign_of_percentage) {
    skip_blanks();
    if (at_ == text_.size()) return {};
    const size_t start = at_;
    const char sign = parse_sign();
    if (sign == 0) return expected("nothing more, or what is added to the percentage: +5% +1MiB");
    if (sign != sign_of_percentage) {
      return wrong(start,
                   std::string("expected the sign of the percentage, ") + sign_of_percentage);
    }
    HEAPTAPE_ASSIGN_OR_RETURN(gate_.extra, parse_number(sign));
    HEAPTAPE_RETURN_IF_ERROR(parse_unit(gate_.extra));
    return check_end(gate_.extra);
  }

  Result<long double> parse_number(char sign) {
    skip_blanks();
    const bool has_digit = rest().starts_with('.') ? rest().size() > 1 && is_digit(rest()[1])
                                                   : !rest().empty() && is_digit(rest()[0]);
    if (!has_digit) return expected("a number, such as 64MiB, 0.25 or +5%");
    long double number = 0;
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data() + at_, end, number);
    if (error != std::errc())
      return wrong(at_, "expected a number that is neither too large nor too small");
    at_ = static_cast<size_t>(stop - text_.data());
    return sign == '-' ? -number : number;
  }

  // Multiplies the number before it.
  Status parse_unit(long double& number) {
    skip_blanks();
    const size_t start = at_;
    const std::string_view name = take_while(is_letter);
    if (name.empty()) {
      return at_ == text_.size() ? Status() : expected(expected_unit());
    }
    HEAPTAPE_ASSIGN_OR_RETURN(const uint64_t factor, factor_of(name, start));
    number *= static_cast<long double>(factor);
    return {};
  }

  Status check_end(long double number) {
    skip_blanks();
    return at_ == text_.size() ? check_whole(number) : expected("nothing more");
  }

  // Bytes with a fraction usually mean a ratio. With a unit, 0.1MiB, they are fine.
  Status check_whole(long double number) const {
    const bool is_fraction = std::floor(number) != number;
    const bool has_unit = is_letter(text_[text_.find_last_not_of(" \t")]);
    if (!is_fraction || has_unit) return {};
    if (gate_.unit != schema::MetricUnit::kBytes) return {};
    return expected("a whole number of bytes, or a unit after it, such as 1.5MiB or +5%");
  }

  // The factor of a unit that begins at `start`.
  Result<uint64_t> factor_of(std::string_view name, size_t start) const {
    if (const uint64_t* const time = find_time_unit(name); time != nullptr && is_in_ns()) {
      return *time;
    }
    const base::Unit* const unit = base::find_unit(name);
    if (unit == nullptr) return wrong(start, "expected " + expected_unit());
    if (unit->is_bytes && !may_be_bytes()) {
      return wrong(start, "expected no unit of bytes: " + gate_.metric + " is not in bytes");
    }
    return unit->factor;
  }

  std::string expected_unit() const {
    return std::string("% or one of the units ") + base::kUnitNames +
           (is_in_ns() ? " ns us ms s" : "") + ", or the end";
  }

  bool is_in_ns() const { return gate_.unit == schema::MetricUnit::kNs; }
  // Only its allocator knows the unit of a counter.
  bool may_be_bytes() const {
    return gate_.metric.starts_with(schema::kCounterPrefix) ||
           gate_.unit == schema::MetricUnit::kBytes;
  }

  std::string_view text_;
  GateGrammar grammar_;
  size_t at_ = 0;
  Gate gate_;
};

}  // namespace

Result<Gate> parse_gate(std::string_view expression, GateGrammar grammar) {
  return GateParser(expression, grammar).parse();
}

}  // namespace heaptape::replayer
