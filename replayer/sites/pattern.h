// A regular expression typed by a user. Exceptions of std::regex are caught here.
#pragma once

#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::replayer {

class Pattern {
 public:
  // Uses ECMAScript syntax. Fails with kUsage and a sentence that quotes the text.
  static base::Result<Pattern> make(const std::string& text);

  // Whether it matches some part of the text. Looks only at the beginning of a long text: the time
  // and stack that std::regex needs are bounded only by its length.
  bool is_in(std::string_view text) const;

 private:
  explicit Pattern(std::regex regex) : regex_(std::move(regex)) {}

  std::regex regex_;
};

}  // namespace heaptape::replayer
