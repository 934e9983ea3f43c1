#include "replayer/export/call_nodes.h"

#include <algorithm>

namespace heaptape::replayer {
namespace {

void replace(StackState& sum, const StackState& old, const StackState& now) {
  sum.calls += now.calls - old.calls;
  sum.asked_bytes += now.asked_bytes - old.asked_bytes;
  sum.live_count += now.live_count - old.live_count;
  sum.live_bytes += now.live_bytes - old.live_bytes;
}

}  // namespace

CallNodes::CallNodes(const ShownStacks& stacks, const NumberOf& number_of) {
  for (const ShownStack& stack : stacks.list()) add(stacks, stack, number_of);
}

void CallNodes::add(const ShownStacks& stacks, const ShownStack& stack, const NumberOf& number_of) {
  std::vector<uint32_t> frames;  // the innermost first
  for (const ShownFrame frame : stacks.frames_of(stack)) {
    const std::vector<uint32_t>& lines = lines_of(stacks, frame, number_of);
    frames.insert(frames.end(), lines.begin(), lines.end());
  }
  if (frames.empty()) frames.push_back(number_of({.name = stacks.name_without_frames(stack)}));
  uint32_t node = kNone;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) node = child_of(node, *frame);
  node_of_stack_[stack.number] = node;
}

const std::vector<uint32_t>& CallNodes::lines_of(const ShownStacks& stacks, ShownFrame frame,
                                                 const NumberOf& number_of) {
  const auto [it, is_new] = frame_lines_.try_emplace(frame);
  if (!is_new) return it->second;
  std::vector<CallLine> lines;
  stacks.for_each_line(frame, [&](const CodePlace& place, const SourceFrame* source) {
    lines.push_back({frame_name(place, source), &place, source, frame.place, 0});
  });
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i].inline_depth = static_cast<uint32_t>(lines.size() - 1 - i);
    it->second.push_back(number_of(lines[i]));
  }
  return it->second;
}

uint32_t CallNodes::child_of(uint32_t parent, uint32_t frame) {
  const uint64_t key = uint64_t{parent} << 32 | frame;
  const auto [it, is_new] = children_.try_emplace(key, static_cast<uint32_t>(nodes_.size()));
  if (is_new) nodes_.push_back({frame, parent});
  return it->second;
}

std::vector<uint32_t> NodeStates::step() {
  std::vector<uint32_t> changed;
  for (const auto& [stack, state] : history_.moments[next_].changed) {
    const uint32_t node = nodes_.find(stack);
    if (node == CallNodes::kNone) continue;
    StackState& of_stack = of_stacks_[stack];
    replace(states_[node], of_stack, state);
    of_stack = state;
    changed.push_back(node);
  }
  ++next_;
  std::ranges::sort(changed);
  changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
  return changed;
}

}  // namespace heaptape::replayer
