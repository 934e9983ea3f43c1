#include "replayer/export/stack_formats.h"

#include <algorithm>
#include <map>

namespace heaptape::replayer {
namespace {

std::string line_of(const ShownStacks& stacks, const ShownStack& stack) {
  std::vector<std::string> names;
  for (const ShownFrame frame : stacks.frames_of(stack)) {
    stacks.for_each_line(frame, [&names](const CodePlace& place, const SourceFrame* source) {
      names.push_back(frame_name(place, source));
      std::ranges::replace(names.back(), ';', ':');
    });
  }
  if (names.empty()) return stacks.name_without_frames(stack);
  std::string line;
  std::ranges::reverse(names);
  for (const std::string& name : names) {
    line += (line.empty() ? "" : ";") + name;
  }
  return line;
}

}  // namespace

std::string folded_text(const ShownStacks& stacks, StackValue value) {
  std::map<std::string, uint64_t> lines;
  for (const ShownStack& stack : stacks.list()) {
    const uint64_t weight = value_of(stack.totals, value);
    if (weight != 0) lines[line_of(stacks, stack)] += weight;
  }
  std::string text;
  for (const auto& [line, weight] : lines) text += line + " " + std::to_string(weight) + "\n";
  return text;
}

}  // namespace heaptape::replayer
