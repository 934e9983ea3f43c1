#include "replayer/export/frame_tree.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/display_text.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kMostNameBytes = 300;

// A node's text, beside the names and what it pins: six values, a depth and a frame.
constexpr size_t kNodeBytes = 36;
constexpr size_t kFrameBytes = 24;
constexpr size_t kFixedValues = schema::kStackValueNames.size();

// An empty sum is 0.
void add(StackValues& sum, const StackValues& values) {
  sum.resize(values.size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
}

bool is_zero(const StackValues& values) {
  return std::ranges::all_of(values, [](uint64_t value) { return value == 0; });
}

// The length of these values as text: their digits, a comma, a blank.
size_t text_bytes(std::span<const uint64_t> values) {
  size_t bytes = 0;
  for (uint64_t value : values) {
    for (bytes += 3; value > 9; value /= 10) ++bytes;
  }
  return bytes;
}

std::string cut_name(std::string name) {
  if (name.size() <= kMostNameBytes) return name;
  name.resize(kMostNameBytes);
  while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0xc0) == 0x80) name.pop_back();
  if (!name.empty() && static_cast<unsigned char>(name.back()) >= 0xc0) name.pop_back();
  return name + "...";
}

// Grows a tree from stacks, the outermost frame first.
class TreeBuilder {
 public:
  TreeBuilder(const ShownStacks& stacks, const std::vector<PinnedStacks>& pinned)
      : stacks_(stacks), pinned_(pinned) {
    for (const PinnedStacks& of_run : pinned) {
      tree_.pinned.push_back({of_run.label, of_run.moments});
    }
    tree_.nodes.push_back({0, 0, StackValues(tree_.value_count())});
    for (const ShownStack& stack : stacks.list()) take(stack);
    // Children come after their parents.
    for (size_t i = tree_.nodes.size() - 1; i > 0; --i) {
      add(tree_.nodes[tree_.nodes[i].parent].values, tree_.nodes[i].values);
    }
  }
  FrameTree take_tree() { return std::move(tree_); }

 private:
  void take(const ShownStack& stack) {
    std::vector<uint32_t> frames;  // the innermost first
    for (const ShownFrame frame : stacks_.frames_of(stack)) {
      stacks_.for_each_line(frame, [&](const CodePlace& place, const SourceFrame* source) {
        frames.push_back(frame_of(place, source));
      });
    }
    if (frames.empty()) frames.push_back(index_of({stacks_.name_without_frames(stack), "", "", 0}));
    uint32_t node = 0;
    while (!frames.empty()) {
      node = child_of(node, frames.back());
      frames.pop_back();
    }
    add(tree_.nodes[node].values, values_of(stack));
  }
  StackValues values_of(const ShownStack& stack) const {
    StackValues values;
    for (size_t i = 0; i < kFixedValues; ++i) {
      values.push_back(value_of(stack.totals, static_cast<StackValue>(i)));
    }
    for (const PinnedStacks& of_run : pinned_) {
      const auto found = of_run.bytes.find(stack.number);
      values.push_back(found == of_run.bytes.end() ? 0 : found->second);
    }
    return values;
  }
  uint32_t child_of(uint32_t parent, uint32_t frame) {
    const uint64_t key = uint64_t{parent} << 32 | frame;
    const auto [it, is_new] = children_.try_emplace(key, tree_.nodes.size());
    if (is_new) tree_.nodes.push_back({frame, parent, StackValues(tree_.value_count())});
    return it->second;
  }
  // Each line of a place is looked up once.
  uint32_t frame_of(const CodePlace& place, const SourceFrame* source) {
    const auto [it, is_new] = lines_.try_emplace({&place, source});
    if (is_new) {
      FrameTree::Frame frame{cut_name(frame_name(place, source)),
                             base::display_text(last_part(place.module)), "", 0};
      if (source != nullptr && !source->file.empty()) {
        frame.file = base::display_text(last_part(source->file));
        frame.line = source->line;
      }
      it->second = index_of(frame);
    }
    return it->second;
  }
  uint32_t index_of(const FrameTree::Frame& frame) {
    const auto [it, is_new] =
        functions_.try_emplace({frame.name, frame.module, frame.file}, tree_.frames.size());
    if (is_new) {
      tree_.frames.push_back(frame);
    } else if (tree_.frames[it->second].line != frame.line) {
      tree_.frames[it->second].line = 0;
    }
    return it->second;
  }

  const ShownStacks& stacks_;
  const std::vector<PinnedStacks>& pinned_;
  FrameTree tree_;
  std::unordered_map<uint64_t, uint32_t> children_;  // by parent << 32 | frame
  std::map<std::pair<const CodePlace*, const SourceFrame*>, uint32_t> lines_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> functions_;
};

// The rest of a tree when small nodes are merged.
class Pruning {
 public:
  Pruning(const FrameTree& tree, double share) : tree_(tree), share_(share) {
    out_.least_share = share;
    out_.merged_nodes = tree.merged_nodes;
    out_.pinned = tree.pinned;
    find_kept();
  }

  size_t bytes() const {
    std::vector<bool> named(tree_.frames.size());
    size_t sum = 0;
    for (size_t i = 1; i < tree_.nodes.size(); ++i) {
      if (!kept_[i]) continue;
      sum += kNodeBytes + text_bytes(std::span(tree_.nodes[i].values).subspan(kFixedValues));
      const uint32_t frame = tree_.nodes[i].frame;
      if (frame == FrameTree::kMergedFrame || named[frame]) continue;
      named[frame] = true;
      const FrameTree::Frame& names = tree_.frames[frame];
      sum += names.name.size() + names.file.size() + kFrameBytes;
    }
    return sum;
  }
  FrameTree take() {
    frame_of_.assign(tree_.frames.size(), FrameTree::kMergedFrame);
    gather_children();
    emit();
    return std::move(out_);
  }

 private:
  bool is_large(const StackValues& values) const {
    const StackValues& total = tree_.nodes[0].values;
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0 &&
          static_cast<double>(values[i]) >= share_ * static_cast<double>(total[i]))
        return true;
    }
    return false;
  }
  // A parent has no less than its child.
  void find_kept() {
    kept_.resize(tree_.nodes.size());
    kept_[0] = true;
    for (size_t i = 1; i < tree_.nodes.size(); ++i) {
      const FrameTree::Node& node = tree_.nodes[i];
      kept_[i] = node.frame != FrameTree::kMergedFrame && is_large(node.values);
    }
  }
  void gather_children() {
    children_.resize(tree_.nodes.size());
    merged_.resize(tree_.nodes.size());
    for (uint32_t i = 1; i < tree_.nodes.size(); ++i) {
      const FrameTree::Node& node = tree_.nodes[i];
      if (kept_[i]) {
        children_[node.parent].push_back(i);
        continue;
      }
      if (node.frame != FrameTree::kMergedFrame) ++out_.merged_nodes;
      if (kept_[node.parent]) add(merged_[node.parent], node.values);
    }
  }
  // Parents before children, sorted by bytes at the peak. No recursion: stacks are deep.
  void emit() {
    struct Next {
      uint32_t node;
      uint32_t parent;  // in the new tree
    };
    std::vector<Next> next{{0, 0}};
    while (!next.empty()) {
      const auto [index, parent] = next.back();
      next.pop_back();
      const auto number = static_cast<uint32_t>(out_.nodes.size());
      const FrameTree::Node& node = tree_.nodes[index];
      out_.nodes.push_back({index == 0 ? 0 : new_frame(node.frame), parent, node.values});
      if (!is_zero(merged_[index])) {
        out_.nodes.push_back({FrameTree::kMergedFrame, number, merged_[index]});
      }
      std::vector<uint32_t>& children = children_[index];
      std::ranges::stable_sort(children, {}, [this](uint32_t child) {
        return tree_.nodes[child].values[static_cast<size_t>(StackValue::kPeak)];
      });
      for (const uint32_t child : children)
        next.push_back({child, number});  // the last comes first
    }
  }
  uint32_t new_frame(uint32_t frame) {
    if (frame_of_[frame] == FrameTree::kMergedFrame) {
      frame_of_[frame] = static_cast<uint32_t>(out_.frames.size());
      out_.frames.push_back(tree_.frames[frame]);
    }
    return frame_of_[frame];
  }

  const FrameTree& tree_;
  const double share_;
  FrameTree out_;
  std::vector<bool> kept_;
  std::vector<std::vector<uint32_t>> children_;  // those kept
  std::vector<StackValues> merged_;              // of those dropped
  std::vector<uint32_t> frame_of_;               // in the new tree
};

// Roughly the least share, of at least `share`, at which the tree fits.
double fitting_share(const FrameTree& tree, double share, size_t most_bytes) {
  const auto fits = [&](double tried) { return Pruning(tree, tried).bytes() <= most_bytes; };
  if (fits(share)) return share;
  constexpr double kFirst = 1e-6;
  constexpr int kHalvings = 10;
  double low = share;
  double high = std::max(2 * share, kFirst);
  while (high < 1 && !fits(high)) low = std::exchange(high, 2 * high);
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

FrameTree frame_tree(const ShownStacks& stacks, const std::vector<PinnedStacks>& pinned,
                     const TreeLimits& limits) {
  return pruned(TreeBuilder(stacks, pinned).take_tree(), limits);
}

FrameTree pruned(const FrameTree& tree, const TreeLimits& limits) {
  const double share = std::max(limits.least_share, tree.least_share);
  return Pruning(tree, fitting_share(tree, share, limits.most_bytes)).take();
}

}  // namespace heaptape::replayer
