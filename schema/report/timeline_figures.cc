#include "schema/report/timeline_figures.h"

#include <capnp/dynamic.h>

#include <utility>

#include "base/display_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report_figures.h"
#include "schema/report/report_file.h"
#include "schema/report/report_json.h"

namespace heaptape::schema {
namespace {

using capnp::DynamicStruct;

std::vector<uint64_t> numbers(capnp::DynamicList::Reader list) {
  std::vector<uint64_t> all;
  all.reserve(list.size());
  for (const auto number : list) all.push_back(number.as<uint64_t>());
  return all;
}

// `prefix`: for the names of the fields of `part`.
void add_series(DynamicStruct::Reader part, const std::string& prefix, size_t samples,
                std::vector<TimelineFigures::Series>& out) {
  for (const auto field : part.getSchema().getFields()) {
    const std::string name = prefix + field.getProto().getName().cStr();
    if (name == "at" || name == "timeNs" || !part.has(field)) continue;
    if (field.getType().isStruct()) {
      add_series(part.get(field).as<DynamicStruct>(), name + ".", samples, out);
      continue;
    }
    std::vector<uint64_t> values = numbers(part.get(field).as<capnp::DynamicList>());
    // A report from another tool may have lists of any length.
    if (samples != 0 && values.size() == samples)
      out.push_back({name, metric_unit("end." + name), values});
  }
}

}  // namespace

// Callers are inside guard_kj.
TimelineFigures timeline_of(wire::Run::Reader run) {
  TimelineFigures figures;
  const auto timeline = run.getTimeline();
  figures.at = numbers(capnp::DynamicList::Reader(timeline.getAt()));
  figures.time_ns = numbers(capnp::DynamicList::Reader(timeline.getTimeNs()));
  figures.time_ns.resize(figures.at.size());  // older reports have none
  add_series(timeline, "", figures.at.size(), figures.series);
  return figures;
}

base::Result<std::vector<RunTimeline>> ReportFile::timelines() const {
  using Read = base::Result<std::vector<RunTimeline>>;
  return guard_kj(
      base::ErrorCode::kDamaged, "cannot read the timelines of " + base::quoted(path_),
      [&]() -> Read {
        std::vector<RunTimeline> runs;
        for (const auto run : report_->root().getRuns()) {
          runs.push_back({base::display_text(run.getLabel().cStr()),
                          base::display_text(run.getBackend().cStr()), timeline_of(run)});
        }
        return Read(std::move(runs));
      });
}

}  // namespace heaptape::schema
