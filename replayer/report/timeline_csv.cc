#include "replayer/report/timeline_csv.h"

#include <capnp/dynamic.h>

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

// A field of CSV, quoted where it must be (RFC 4180).
std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '"');
  return "\"" + text + "\"";
}

}  // namespace

// Its callers stand inside guard_kj.
std::string timeline_csv(wire::Report::Reader report) {
  const auto fields = capnp::Schema::from<wire::Timeline>().getFields();
  std::string text = "run";
  for (const auto field : fields) text += std::string(",") + field.getProto().getName().cStr();
  text += "\n";
  for (const auto run : report.getRuns()) {
    const std::string label = csv_field(run.getLabel().cStr());
    const capnp::DynamicStruct::Reader timeline = run.getTimeline();
    for (unsigned row = 0; row < run.getTimeline().getAt().size(); ++row) {
      text += label;
      for (const auto field : fields) {
        const auto list = timeline.get(field).as<capnp::DynamicList>();
        text += ',';
        if (row < list.size()) text += std::to_string(list[row].as<uint64_t>());
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace heaptape::replayer
