// A regular expression that a user typed. The exceptions of std::regex are caught here.
#pragma once

#include <regex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::replayer {

class Pattern {
 public:
  // As ECMAScript has them. Fails with kUsage and a sentence that quotes the text.
  static base::Result<Pattern> make(const std::string& text);

  // Whether it matches some part of the text. Of a long text only the beginning is looked at: the
  // time that std::regex takes, and the stack, have no bound but the text's length.
  bool is_in(std::string_view text) const;

 private:
  explicit Pattern(std::regex regex) : regex_(std::move(regex)) {}

  std::regex regex_;
};

}  // namespace heaptape::replayer
