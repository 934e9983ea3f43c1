#include "replayer/sites/short_name.h"

#include "replayer/sites/plain_name.h"

namespace heaptape::replayer {
namespace {

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

std::string short_name(std::string_view function) {
  std::string name(plain_name(function));
  if (name.size() > kNameBytes) name = without_arguments(name);
  if (name.size() <= kNameBytes) return name;
  return name.substr(0, kNameBytes - kNameEndBytes - 3) + "..." +
         name.substr(name.size() - kNameEndBytes);
}

}  // namespace heaptape::replayer
