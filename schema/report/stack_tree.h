// The stacks of a tape as one tree, for flame graphs: functions below their callers, each with what
// it and all that it called come to. docs/metrics.md, "Flame graphs". Free of Cap'n Proto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::schema {

// In the order in which trees have their values; the names are those of SiteTotals.
inline constexpr std::array<const char*, 5> kStackValueNames = {
    "peakBytes", "liveBytes", "askedBytes", "calls", "temporaries"};
using StackValues = std::vector<uint64_t>;

// Which run pins, and at which moments: several at one call have the same values.
struct PinnedName {
  std::string label;  // of the run
  std::vector<std::string> moments;

  bool operator==(const PinnedName&) const = default;
};

struct StackTree {
  // A function. Lines of one function are one frame.
  struct Frame {
    std::string name;    // cut where it is very long
    std::string module;  // the last part of its path; empty: not known
    std::string file;    // the last part of its path; empty: not known
    uint32_t line = 0;   // 0: not known, or not one alone
  };
  struct Node {
    uint32_t frame = 0;       // index into frames; kMergedFrame: calls too small to be shown
    uint32_t parent = 0;      // index into nodes, less than its own; of the first, 0
    StackValues values = {};  // value_count() of them
  };
  static constexpr uint32_t kMergedFrame = UINT32_MAX;
  // Of the calls for one byte in so many the stacks were recorded; so many they were.
  struct Sampling {
    uint64_t every_bytes = 0;
    uint64_t calls = 0;
  };

  // So many runs and moments at most: with more, a small report could have a large tree.
  static constexpr size_t kMostPinned = 256;
  static constexpr size_t kMostMoments = 4 * kMostPinned;  // of all of them

  std::vector<Frame> frames;
  // The first is the root, which is no function: its values are those of all stacks. Each node
  // comes behind its parent and before its parent's next child. A node has at least what its
  // children come to together; what it has beyond is its own.
  std::vector<Node> nodes;
  // What is less than this part of all, by every value, is merged.
  double least_share = 0;
  size_t merged_nodes = 0;  // how many were
  // What nodes have behind the values of kStackValueNames: bytes pinned. No two have the same label
  // and a moment in common.
  std::vector<PinnedName> pinned = {};
  // Of the tape, which reports have beside the tree: then all values are estimates.
  std::optional<Sampling> sampling = {};

  size_t value_count() const { return kStackValueNames.size() + pinned.size(); }
};

// The same, as reports and pages hold it: see StackTree in report.capnp.
struct StackColumns {
  explicit StackColumns(const StackTree& tree);

  std::vector<std::string> names;
  std::vector<uint32_t> module_of;
  std::vector<uint32_t> file_of;
  std::vector<uint32_t> lines;
  std::vector<std::string> modules;
  std::vector<std::string> files;
  std::vector<uint32_t> frames;
  std::vector<uint32_t> depths;
  std::vector<std::vector<uint64_t>> values;  // as nodes have them
};

// That of the report in the file `path`; nothing where its tape had no stacks, or an older heaptape
// wrote it. Fails where the file is no report, or what it has is no such tree; so does one whose
// frames come to more than 64 MiB of text.
base::Result<std::optional<StackTree>> read_stack_tree(const std::string& path);

}  // namespace heaptape::schema
