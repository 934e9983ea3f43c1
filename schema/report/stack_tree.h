// The stacks of a tape as one tree, for flame graphs: functions below their callers, each with the
// totals of itself and all that it called. docs/metrics.md, "Flame graphs". Free of Cap'n Proto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::schema {

// In the order of the values in trees; the names are those of SiteTotals.
inline constexpr std::array<const char*, 6> kStackValueNames = {
    "peakBytes", "liveBytes", "askedBytes", "calls", "temporaries", "mappedBytes"};
using StackValues = std::vector<uint64_t>;

// A run that pins, and the moments: several at one call have the same values.
struct PinnedName {
  std::string label;  // of the run
  std::vector<std::string> moments;

  bool operator==(const PinnedName&) const = default;
};

struct StackTree {
  // A function. All lines of one function are one frame.
  struct Frame {
    std::string name;    // truncated if very long
    std::string module;  // the last part of its path; empty if unknown
    std::string file;    // the last part of its path; empty if unknown
    uint32_t line = 0;   // 0 if unknown, or more than one
  };
  struct Node {
    uint32_t frame = 0;       // index into frames; kMergedFrame: calls too small to be shown
    uint32_t parent = 0;      // index into nodes, less than its own; for the first, 0
    StackValues values = {};  // value_count() of them
  };
  static constexpr uint32_t kMergedFrame = UINT32_MAX;
  // Stacks were recorded for calls asking for one byte in every_bytes: `calls` of them.
  struct Sampling {
    uint64_t every_bytes = 0;
    uint64_t calls = 0;
  };

  // The most runs and moments: with more, a small report could have a large tree.
  static constexpr size_t kMostPinned = 256;
  static constexpr size_t kMostMoments = 4 * kMostPinned;  // in all of them

  std::vector<Frame> frames;
  // The first is the root, which is not a function: its values are those of all stacks. Each node
  // comes after its parent and before its parent's next child. A node has at least the sum of its
  // children; the excess is its own.
  std::vector<Node> nodes;
  // Nodes below this share of all, by every value, are merged.
  double least_share = 0;
  size_t merged_nodes = 0;  // how many were merged
  // The nodes' values after those of kStackValueNames: bytes pinned. No two have the same label and
  // a moment in common.
  std::vector<PinnedName> pinned = {};
  // From the tape; reports have it beside the tree. If set, all values but mappedBytes are
  // estimates.
  std::optional<Sampling> sampling = {};

  size_t value_count() const { return kStackValueNames.size() + pinned.size(); }
};

// The same in the form of reports and pages: see StackTree in report.capnp.
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
  std::vector<std::vector<uint64_t>> values;  // in nodes' order
};

}  // namespace heaptape::schema
