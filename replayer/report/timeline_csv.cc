#include "replayer/report/timeline_csv.h"

#include <capnp/dynamic.h>

#include <string>
#include <utility>
#include <vector>

#include "replayer/text/csv_field.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

// A column: the path of its list in a timeline, and its name, that of the metric.
struct CsvColumn {
  std::string name;
  std::vector<capnp::StructSchema::Field> path = {};
};

void add_columns(capnp::StructSchema part, const CsvColumn& holder, std::vector<CsvColumn>& out) {
  for (const auto field : part.getFields()) {
    CsvColumn column = holder;
    column.path.push_back(field);
    column.name +=
        (column.name.empty() ? "" : ".") + std::string(field.getProto().getName().cStr());
    if (field.getType().isStruct()) {
      add_columns(field.getType().asStruct(), column, out);
    } else {
      out.push_back(std::move(column));
    }
  }
}

// Empty if the number is not known.
std::string cell(capnp::DynamicStruct::Reader timeline, const CsvColumn& column, unsigned row) {
  for (const auto field : column.path) {
    if (!field.getType().isStruct()) {
      const auto list = timeline.get(field).as<capnp::DynamicList>();
      return row < list.size() ? std::to_string(list[row].as<uint64_t>()) : "";
    }
    timeline = timeline.get(field).as<capnp::DynamicStruct>();
  }
  return "";
}

}  // namespace

// Call it inside guard_kj.
std::string timeline_csv(wire::Report::Reader report) {
  std::vector<CsvColumn> columns;
  add_columns(capnp::Schema::from<wire::Timeline>(), {}, columns);
  std::string text = "run";
  for (const CsvColumn& column : columns) text += "," + column.name;
  text += "\n";
  for (const auto run : report.getRuns()) {
    const std::string label = csv_field(run.getLabel().cStr());
    for (unsigned row = 0; row < run.getTimeline().getAt().size(); ++row) {
      text += label;
      for (const CsvColumn& column : columns) text += "," + cell(run.getTimeline(), column, row);
      text += "\n";
    }
  }
  return text;
}

}  // namespace heaptape::replayer
