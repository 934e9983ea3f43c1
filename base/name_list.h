// Lists of names for messages.
#pragma once

#include <functional>
#include <string>

namespace heaptape::base {

// "a, b, c": the results of `name` for each of `things`.
template <typename Things, typename Name = std::identity>
std::string name_list(const Things& things, Name name = {}) {
  std::string text;
  for (const auto& thing : things) {
    if (!text.empty()) text += ", ";
    text += std::invoke(name, thing);
  }
  return text;
}

}  // namespace heaptape::base
