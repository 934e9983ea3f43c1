#include "replayer/sites/short_name.h"

#include <cstddef>

namespace heaptape::replayer {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kUnnamed = "(anonymous namespace)";

// Walks over demangled text, tracking brackets.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  std::string_view name() {
    for (; at_ < text_.size() && !at_parameters(); step()) {
    }
    return text_.substr(begin_, at_ - begin_);
  }

 private:
  bool at_parameters() const {
    return depth_ == 0 && text_[at_] == '(' && at_ > begin_ && !rest().starts_with(kUnnamed);
  }
  std::string_view rest() const { return text_.substr(at_); }

  void step() {
    if (depth_ == 0 && at_operator()) return skip_operator();
    if (rest().starts_with(kUnnamed)) {
      at_ += kUnnamed.size();
      return;
    }
    const char c = text_[at_++];
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (depth_ > 0 && (c == '>' || c == ')' || c == ']' || c == '}')) {
      if (c != '>' || text_[at_ - 2] != '-') --depth_;  // "->" closes nothing
    } else if (depth_ == 0 && c == ' ') {
      begin_ = at_;  // so far it was the return type
    }
  }
  bool at_operator() const {
    if (!rest().starts_with(kOperator)) return false;
    const size_t end = at_ + kOperator.size();
    const bool is_whole_word = end == text_.size() || !is_in_word(text_[end]);
    return is_whole_word && (at_ == 0 || !is_in_word(text_[at_ - 1]));
  }
  static bool is_in_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  // Brackets and spaces are part of an operator's name: "operator()", "operator new[]".
  void skip_operator() {
    at_ += kOperator.size();
    if (rest().starts_with("()")) at_ += 2;
    while (at_ < text_.size() && text_[at_] != '(') ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0;
  size_t depth_ = 0;
};

constexpr size_t kNameBytes = 48;
constexpr size_t kNameEndBytes = 16;  // the part of them at the end of a longer name

// "std::vector<...>::push_back". Returns a name with unpaired brackets, such as an operator's,
// unchanged.
std::string without_arguments(std::string_view name) {
  std::string text;
  size_t depth = 0;
  for (const char c : name) {
    if (c == '>' && depth > 0) --depth;
    if (depth == 0) text += c;
    if (c == '<' && ++depth == 1) text += "...";
  }
  return depth == 0 ? text : std::string(name);
}

}  // namespace

std::string_view plain_name(std::string_view demangled) {
  return Walk(demangled).name();
}

std::string short_name(std::string_view function) {
  std::string name(plain_name(function));
  if (name.size() > kNameBytes) name = without_arguments(name);
  if (name.size() <= kNameBytes) return name;
  return name.substr(0, kNameBytes - kNameEndBytes - 3) + "..." +
         name.substr(name.size() - kNameEndBytes);
}

}  // namespace heaptape::replayer
