// The stacks of a tape as a tree of calls, for formats that have stacks as such.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replayer/export/heap_history.h"
#include "replayer/export/shown_stacks.h"

namespace heaptape::replayer {

// A line of a frame as a format may name it.
struct CallLine {
  std::string name;                     // fit to print
  const CodePlace* place = nullptr;     // null: the stack has no frames
  const SourceFrame* source = nullptr;  // null: unknown
  uint32_t place_index = 0;             // of `place`
  uint32_t inline_depth = 0;            // 0: the function that has the code
};

// Stacks that a format shows as the same are one node.
class CallNodes {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    uint32_t frame;   // as `number_of` has it
    uint32_t parent;  // an index, which is smaller; kNone: none calls it
  };
  // Equal for lines that the format shows as the same.
  using NumberOf = std::function<uint32_t(const CallLine&)>;

  CallNodes(const ShownStacks& stacks, const NumberOf& number_of);

  const std::vector<Node>& list() const { return nodes_; }
  // The node of a stack by its number; kNone if it is not shown.
  uint32_t find(schema::FrameNumber stack) const {
    const auto found = node_of_stack_.find(stack);
    return found == node_of_stack_.end() ? kNone : found->second;
  }

 private:
  void add(const ShownStacks& stacks, const ShownStack& stack, const NumberOf& number_of);
  const std::vector<uint32_t>& lines_of(const ShownStacks& stacks, ShownFrame frame,
                                        const NumberOf& number_of);
  uint32_t child_of(uint32_t parent, uint32_t frame);

  std::vector<Node> nodes_;
  std::unordered_map<schema::FrameNumber, uint32_t> node_of_stack_;
  std::unordered_map<uint64_t, uint32_t> children_;          // by parent << 32 | frame
  std::map<ShownFrame, std::vector<uint32_t>> frame_lines_;  // the innermost first
};

// The blocks of nodes from one moment of a history to the next.
class NodeStates {
 public:
  // Keeps both.
  NodeStates(const CallNodes& nodes, const HeapHistory& history)
      : nodes_(nodes), history_(history), states_(nodes.list().size()) {}

  // Goes on to the next moment, from the first: the nodes whose states changed, ascending.
  std::vector<uint32_t> step();
  const StackState& of(uint32_t node) const { return states_[node]; }

 private:
  const CallNodes& nodes_;
  const HeapHistory& history_;
  size_t next_ = 0;
  std::vector<StackState> states_;  // by node
  std::unordered_map<schema::FrameNumber, StackState> of_stacks_;
};

}  // namespace heaptape::replayer
