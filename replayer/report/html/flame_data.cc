#include "replayer/report/html/flame_data.h"

#include <algorithm>
#include <string>
#include <vector>

#include "replayer/report/html/tree_union.h"

namespace heaptape::replayer {
namespace {

using schema::StackColumns;
using schema::StackTree;

std::vector<uint64_t> wide(const std::vector<uint32_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

void write_columns(JsonWriter& out, const StackColumns& columns) {
  const auto list = [&out](const char* name, const auto& values) {
    out.name(name);
    out.list(values);
  };
  list("names", columns.names);
  list("moduleOf", wide(columns.module_of));
  list("fileOf", wide(columns.file_of));
  list("lines", wide(columns.lines));
  list("modules", columns.modules);
  list("files", columns.files);
  list("frames", wide(columns.frames));
  list("depths", wide(columns.depths));
}

// Null unless the values of the tape are estimates.
void write_sampling(JsonWriter& out, const char* name, const StackTree& tree) {
  out.name(name);
  if (!tree.sampling) return out.null();
  out.open_object();
  out.field("everyBytes", tree.sampling->every_bytes);
  out.field("calls", tree.sampling->calls);
  out.close_object();
}

void write_values(JsonWriter& out, const char* name, const StackColumns& columns) {
  out.name(name);
  out.open_object();
  for (size_t v = 0; v < columns.values.size(); ++v) {
    out.name(value_key(v));
    out.list(columns.values[v]);
  }
  out.close_object();
}

void write_pinned(JsonWriter& out, const StackTree& tree) {
  out.name("pinned");
  out.open_list();
  for (const schema::PinnedName& name : tree.pinned) {
    out.open_object();
    out.field("label", name.label);
    out.name("moments");
    out.list(name.moments);
    out.close_object();
  }
  out.close_list();
}

}  // namespace

std::string value_key(size_t value) {
  constexpr size_t kFixed = schema::kStackValueNames.size();
  if (value < kFixed) return schema::kStackValueNames[value];
  return "pinned" + std::to_string(value - kFixed);
}

void write_stack_tree(JsonWriter& out, const StackTree& tree) {
  const StackColumns columns(tree);
  out.open_object();
  out.field("leastShare", tree.least_share);
  out.field("mergedNodes", tree.merged_nodes);
  write_sampling(out, "sampling", tree);
  write_columns(out, columns);
  write_pinned(out, tree);
  write_values(out, "values", columns);
  out.close_object();
}

void write_stack_trees(JsonWriter& out, const StackTree& base, const StackTree& now) {
  const TreeUnion both = unite(base, now);
  const StackColumns columns(both.now);
  out.open_object();
  out.field("leastShare", std::max(base.least_share, now.least_share));
  out.field("mergedNodes", base.merged_nodes + now.merged_nodes);
  write_sampling(out, "sampling", now);
  write_sampling(out, "baseSampling", base);
  write_columns(out, columns);
  write_pinned(out, both.now);
  write_values(out, "values", columns);
  write_values(out, "base", StackColumns(both.base));
  out.close_object();
}

}  // namespace heaptape::replayer
