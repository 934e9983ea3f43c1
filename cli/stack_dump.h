// The stacks of calls that `heaptape dump --stacks` prints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/tape_stacks.h"
#include "schema/tape/tape_text.h"

namespace heaptape::cli {

class StackDump {
 public:
  explicit StackDump(TapeStacks stacks)
      : stacks_(std::move(stacks)), is_known_(stacks_.stacks.limit(), false) {}

  // Appends the frames of a stack on its first call for that stack.
  void append_once(std::string& text, schema::TextFormat format, schema::FrameNumber stack);

 private:
  std::vector<std::string> frames_of(schema::FrameNumber stack) const;

  TapeStacks stacks_;
  std::vector<bool> is_known_;  // by stack number
};

}  // namespace heaptape::cli
