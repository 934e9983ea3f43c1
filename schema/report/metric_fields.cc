#include "schema/report/metric_fields.h"

#include <utility>

#include "base/check.h"
#include "schema/report/report.capnp.h"  // for its schema: no message is read, which would need guard_kj

namespace heaptape::schema {
namespace {

MetricUnit to_unit(wire::Unit unit) {
  switch (unit) {
    case wire::Unit::COUNT:
      return MetricUnit::kCount;
    case wire::Unit::BYTES:
      return MetricUnit::kBytes;
    case wire::Unit::NS:
      return MetricUnit::kNs;
    case wire::Unit::RATIO:
      return MetricUnit::kRatio;
  }
  HEAPTAPE_CHECK(!"a unit that report.capnp does not have");
}

std::optional<MetricUnit> unit_of(capnp::StructSchema::Field field) {
  for (const auto annotation : field.getProto().getAnnotations()) {
    if (annotation.getId() != wire::UNIT_ANNOTATION) continue;
    return to_unit(static_cast<wire::Unit>(annotation.getValue().getEnum()));
  }
  return std::nullopt;
}

bool is_number(capnp::Type type) {
  return type.which() >= capnp::schema::Type::INT8 && type.which() <= capnp::schema::Type::FLOAT64;
}

// Appends the numbers of `part`, depth first. `holder` is the field that holds it. A PeakValue
// gives NAME (its value) and NAME.at.
void add_metrics(capnp::StructSchema part, const MetricField& holder,
                 std::vector<MetricField>& out) {
  if (part == capnp::Schema::from<wire::Failure>()) return;  // instead of figures, not one of them
  const bool is_peak_value = part == capnp::Schema::from<wire::PeakValue>();
  for (const auto field : part.getFields()) {
    MetricField metric = holder;
    metric.path.push_back(field);
    const std::string name = field.getProto().getName().cStr();
    if (!is_peak_value || name != "value") metric.name += (metric.name.empty() ? "" : ".") + name;
    if (const auto unit = unit_of(field)) metric.unit = unit;
    if (field.getType().isStruct()) {
      add_metrics(field.getType().asStruct(), metric, out);
    } else if (is_number(field.getType())) {
      HEAPTAPE_CHECK(metric.unit);
      out.push_back(std::move(metric));
    }
  }
}

template <typename Part>
std::vector<MetricField> fields_of(const MetricField& holder = {}) {
  std::vector<MetricField> all;
  add_metrics(capnp::Schema::from<Part>(), holder, all);
  return all;
}

}  // namespace

const std::vector<MetricField>& run_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::Run>();
  return fields;
}

const std::vector<MetricField>& loss_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::Losses>({.name = "tape.losses"});
  return fields;
}

const std::vector<MetricField>& state_fields() {
  static const std::vector<MetricField> fields = fields_of<wire::State>();
  return fields;
}

const std::vector<std::string>& latency_fields() {
  static const std::vector<std::string> fields = [] {
    std::vector<std::string> names;
    for (const auto field : capnp::Schema::from<wire::Latency>().getFields()) {
      if (is_number(field.getType())) names.emplace_back(field.getProto().getName().cStr());
    }
    return names;
  }();
  return fields;
}

}  // namespace heaptape::schema
