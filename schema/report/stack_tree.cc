#include "schema/report/stack_tree.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "schema/kj_guard.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_file.h"
#include "schema/report/report_json.h"
#include "schema/report/text_of.h"

namespace heaptape::schema {
namespace {

// The index of a name in a list of all names.
class Names {
 public:
  uint32_t number_of(const std::string& name) {
    const auto [it, is_new] = numbers_.try_emplace(name, list_.size());
    if (is_new) list_.push_back(name);
    return it->second;
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> list_;
};

template <typename List, typename Values>
void fill(List list, const Values& values) {
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, values[i]);
}

std::vector<std::string> texts_of(capnp::List<capnp::Text>::Reader list) {
  std::vector<std::string> texts;
  for (const auto text : list) texts.push_back(text_of(text));
  return texts;
}

// Every frame gets its own copy of its module and file. False if that makes more text than any tree
// of ours has: a small report can, if many frames share one long module.
bool read_frames(wire::StackTree::Reader in, StackTree& tree) {
  constexpr size_t kMostTextBytes = 64 << 20;
  const auto names = in.getNames();
  if (in.getModuleOf().size() != names.size() || in.getFileOf().size() != names.size() ||
      in.getLines().size() != names.size()) {
    return false;
  }
  const std::vector<std::string> modules = texts_of(in.getModules());
  const std::vector<std::string> files = texts_of(in.getFiles());
  size_t text_bytes = 0;
  for (unsigned i = 0; i < names.size(); ++i) {
    const uint32_t module = in.getModuleOf()[i];
    const uint32_t file = in.getFileOf()[i];
    if (module >= modules.size() || file >= files.size()) return false;
    std::string name = text_of(names[i]);
    text_bytes += name.size() + modules[module].size() + files[file].size();
    if (text_bytes > kMostTextBytes) return false;
    tree.frames.push_back({std::move(name), modules[module], files[file], in.getLines()[i]});
  }
  return true;
}

// False if there are more than heaptape writes, or one occurs twice.
bool read_pinned(wire::StackTree::Reader in, StackTree& tree) {
  if (in.getPinned().size() > StackTree::kMostPinned) return false;
  std::set<std::pair<std::string, std::string>> known;
  for (const auto pinned : in.getPinned()) {
    tree.pinned.push_back({text_of(pinned.getLabel()), texts_of(pinned.getMoments())});
    for (const std::string& moment : tree.pinned.back().moments) {
      if (!known.emplace(tree.pinned.back().label, moment).second) return false;
    }
    if (known.size() > StackTree::kMostMoments) return false;
  }
  return true;
}

// From the depths; false if they do not form a tree.
bool read_nodes(wire::StackTree::Reader in, StackTree& tree) {
  std::vector<capnp::List<uint64_t>::Reader> values = {in.getPeakBytes(),   in.getLiveBytes(),
                                                       in.getAskedBytes(),  in.getCalls(),
                                                       in.getTemporaries(), in.getMappedBytes()};
  const size_t mapped = values.size() - 1;
  for (const auto pinned : in.getPinned()) values.push_back(pinned.getBytes());
  const unsigned count = in.getFrames().size();
  if (count == 0 || in.getDepths().size() != count || in.getDepths()[0] != 0) return false;
  const bool has_mapped = values[mapped].size() != 0;
  for (size_t v = 0; v < values.size(); ++v) {
    if ((v != mapped || has_mapped) && values[v].size() != count) return false;
  }
  std::vector<uint32_t> path;  // to the last node: its ancestors, then itself
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t frame = in.getFrames()[i];
    const uint32_t depth = in.getDepths()[i];
    if (depth > path.size() || (depth == 0) != (i == 0) || frame > tree.frames.size()) return false;
    path.resize(depth);
    StackTree::Node& node = tree.nodes.emplace_back();
    node.frame = i == 0 ? 0 : frame == 0 ? StackTree::kMergedFrame : frame - 1;
    node.parent = depth == 0 ? 0 : path.back();
    for (size_t v = 0; v < values.size(); ++v) {
      node.values.push_back(v == mapped && !has_mapped ? 0 : values[v][i]);
    }
    path.push_back(i);
  }
  return true;
}

// No node has less than the sum of its children.
bool has_sums(const StackTree& tree) {
  std::vector<StackValues> left;
  for (const StackTree::Node& node : tree.nodes) {
    left.push_back(node.values);
    if (left.size() == 1) continue;
    for (size_t v = 0; v < node.values.size(); ++v) {
      if (left[node.parent][v] < node.values[v]) return false;
      left[node.parent][v] -= node.values[v];
    }
  }
  return true;
}

// Nothing if the stacks of all calls were recorded.
std::optional<StackTree::Sampling> sampling_of(wire::TapeSites::Reader sites) {
  if (!sites.hasSampling()) return std::nullopt;
  return StackTree::Sampling{sites.getSampling().getEveryBytes(), sites.getSampling().getCalls()};
}

}  // namespace

StackColumns::StackColumns(const StackTree& tree) : values(tree.value_count()) {
  Names module_names;
  Names file_names;
  for (const StackTree::Frame& frame : tree.frames) {
    names.push_back(frame.name);
    module_of.push_back(module_names.number_of(frame.module));
    file_of.push_back(file_names.number_of(frame.file));
    lines.push_back(frame.line);
  }
  modules = module_names.take();
  files = file_names.take();
  for (const StackTree::Node& node : tree.nodes) {
    const bool is_root = depths.empty();
    const bool has_frame = !is_root && node.frame != StackTree::kMergedFrame;
    frames.push_back(has_frame ? node.frame + 1 : 0);
    depths.push_back(is_root ? 0 : depths[node.parent] + 1);
    for (size_t v = 0; v < values.size(); ++v) values[v].push_back(node.values[v]);
  }
}

// Callers are inside guard_kj; so are those of the next function.
void set_stack_tree(wire::StackTree::Builder out, const StackTree& tree) {
  const StackColumns columns(tree);
  const auto frames = static_cast<unsigned>(columns.names.size());
  const auto nodes = static_cast<unsigned>(columns.frames.size());
  out.setLeastShare(tree.least_share);
  out.setMergedNodes(tree.merged_nodes);
  fill(out.initNames(frames), columns.names);
  fill(out.initModuleOf(frames), columns.module_of);
  fill(out.initFileOf(frames), columns.file_of);
  fill(out.initLines(frames), columns.lines);
  fill(out.initModules(static_cast<unsigned>(columns.modules.size())), columns.modules);
  fill(out.initFiles(static_cast<unsigned>(columns.files.size())), columns.files);
  fill(out.initFrames(nodes), columns.frames);
  fill(out.initDepths(nodes), columns.depths);
  fill(out.initPeakBytes(nodes), columns.values[0]);
  fill(out.initLiveBytes(nodes), columns.values[1]);
  fill(out.initAskedBytes(nodes), columns.values[2]);
  fill(out.initCalls(nodes), columns.values[3]);
  fill(out.initTemporaries(nodes), columns.values[4]);
  fill(out.initMappedBytes(nodes), columns.values[5]);
  const auto count = static_cast<unsigned>(tree.pinned.size());
  if (count == 0) return;
  auto pinned = out.initPinned(count);
  for (unsigned i = 0; i < count; ++i) {
    const PinnedName& name = tree.pinned[i];
    pinned[i].setLabel(name.label);
    fill(pinned[i].initMoments(static_cast<unsigned>(name.moments.size())), name.moments);
    fill(pinned[i].initBytes(nodes), columns.values[kStackValueNames.size() + i]);
  }
}

std::optional<StackTree> stack_tree_of(wire::StackTree::Reader in) {
  StackTree tree;
  if (!std::isfinite(in.getLeastShare())) return std::nullopt;
  tree.least_share = std::clamp(in.getLeastShare(), 0.0, 1.0);
  tree.merged_nodes = in.getMergedNodes();
  if (!read_frames(in, tree) || !read_pinned(in, tree) || !read_nodes(in, tree) ||
      !has_sums(tree)) {
    return std::nullopt;
  }
  return tree;
}

base::Result<std::optional<StackTree>> ReportFile::stack_tree() const {
  using Read = base::Result<std::optional<StackTree>>;
  return guard_kj(base::ErrorCode::kDamaged,
                  "cannot read the call stacks of " + base::quoted(path_), [&]() -> Read {
                    const auto tape = report_->root().getTape();
                    if (!tape.hasStacks()) return Read(std::nullopt);
                    auto tree = stack_tree_of(tape.getStacks());
                    if (tree) tree->sampling = sampling_of(tape.getSites());
                    if (tree) return Read(std::move(tree));
                    return base::Error::damaged("the call stacks of " + base::quoted(path_) +
                                                " do not form a tree: replay the tape again");
                  });
}

}  // namespace heaptape::schema
