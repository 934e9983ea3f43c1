// Gates of sweeps, the figures of a report, and numbers and text as the program prints them.
#include "replayer/diff/gate.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <optional>
#include <string>

#include "base/display_text.h"
#include "python/extension/table.h"
#include "replayer/text/metric_text.h"
#include "schema/report/report_metrics.h"

namespace nb = nanobind;

namespace heaptape::python {
namespace {

using replayer::Gate;
using replayer::GateGrammar;
using replayer::GateKind;
using replayer::GateOp;
using schema::MetricUnit;
using schema::MetricValue;

// Surrogates, which stand for bytes that are not UTF-8, stay what UTF-8 does not allow.
std::string bytes_of(const nb::str& text) {
  const auto bytes = nb::cast<nb::bytes>(text.attr("encode")("utf-8", "surrogatepass"));
  return {bytes.c_str(), bytes.size()};
}

Gate parse_gate(const nb::str& text) {
  return value_or_throw(replayer::parse_gate(bytes_of(text), GateGrammar::kSweep));
}

MetricUnit unit_of(const std::string& metric) {
  const auto unit = replayer::metric_unit(metric, GateGrammar::kSweep);
  if (!unit) throw nb::key_error(("there is no metric " + base::quoted(metric)).c_str());
  return *unit;
}

MetricUnit unit_named(const std::string& name) {
  for (const auto unit : {MetricUnit::kBytes, MetricUnit::kNs, MetricUnit::kRatio}) {
    if (name == schema::unit_name(unit)) return unit;
  }
  return MetricUnit::kCount;
}

// Without its sign. Counts and bytes are whole: Python has means of them, and changes.
MetricValue size_of(const MetricValue& value, MetricUnit unit) {
  if (schema::is_integer(value)) return value;
  const double size = std::fabs(std::get<double>(value));
  const bool is_whole = unit == MetricUnit::kBytes || unit == MetricUnit::kCount;
  if (is_whole && size < 0x1p63) return static_cast<uint64_t>(std::llround(size));
  return size;
}

std::string figure_text(const std::optional<MetricValue>& figure, const std::string& unit_name,
                        bool exact) {
  if (!figure) return "-";
  const MetricUnit unit = unit_named(unit_name);
  const MetricValue size = size_of(*figure, unit);
  const std::string text = exact && unit == MetricUnit::kBytes
                               ? replayer::exact_text(schema::number_of(size), unit)
                               : replayer::value_text(size, unit);
  return (schema::number_of(*figure) < 0 ? "-" : "") + text;
}

std::string change_text(const MetricValue& change, const std::string& unit_name) {
  const MetricUnit unit = unit_named(unit_name);
  const std::optional<MetricValue> nothing = MetricValue(uint64_t{0});
  const MetricValue size = size_of(change, unit);
  return schema::number_of(change) < 0 ? replayer::change_text(size, nothing, unit)
                                       : replayer::change_text(nothing, size, unit);
}

// By name, those of the first run.
nb::dict report_figures(const nb::bytes& path) {
  const std::string file(path.c_str(), path.size());
  const auto report = [&file] {
    const nb::gil_scoped_release unlocked;
    return value_or_throw(schema::read_figures(file));
  }();
  nb::dict figures;
  if (report.runs.empty()) return figures;
  for (const schema::Metric& metric : report.runs.front().metrics) {
    figures[nb::str(metric.name.data(), metric.name.size())] = metric.value;
  }
  return figures;
}

nb::dict aggregates() {
  nb::dict percents;
  for (const replayer::Aggregate& aggregate : replayer::kAggregates) {
    percents[nb::str(aggregate.name.data(), aggregate.name.size())] = nb::cast(aggregate.percent);
  }
  return percents;
}

void add_gate(nb::module_& module) {
  nb::class_<Gate>(module, "Gate")
      .def_ro("text", &Gate::expression)
      .def_ro("aggregate", &Gate::aggregate)
      .def_ro("metric", &Gate::metric)
      .def_prop_ro("unit", [](const Gate& gate) { return schema::unit_name(gate.unit); })
      .def_prop_ro("is_change", [](const Gate& gate) { return gate.kind != GateKind::kAbsolute; })
      .def_prop_ro("is_percent", [](const Gate& gate) { return gate.kind == GateKind::kPercent; })
      .def_prop_ro("is_falling",
                   [](const Gate& gate) {
                     return gate.op == GateOp::kLess || gate.op == GateOp::kLessOrEqual;
                   })
      .def_prop_ro("limit", [](const Gate& gate) { return replayer::limit_of(gate); })
      .def_prop_ro("extra", [](const Gate& gate) { return static_cast<double>(gate.extra); })
      .def("breaks", replayer::breaks, nb::arg("now"), nb::arg("base") = nb::none())
      .def("is_beyond", replayer::is_beyond, nb::arg("number"));
}

}  // namespace

void add_gates(nb::module_& module) {
  add_gate(module);
  module.attr("AGGREGATES") = aggregates();
  module.attr("FAILED") = std::string(replayer::kFailedCells);
  module.attr("MEAN_RESIDENT") = std::string(replayer::kMeanResident);
  module.def("parse_gate", parse_gate, nb::arg("text"));
  module.def(
      "metric_unit", [](const std::string& name) { return schema::unit_name(unit_of(name)); },
      nb::arg("name"));
  module.def("report_figures", report_figures, nb::arg("path"));
  module.def("figure_text", figure_text, nb::arg("figure").none(), nb::arg("unit"),
             nb::arg("exact") = false);
  module.def("change_text", change_text, nb::arg("change"), nb::arg("unit"));
  module.def(
      "percent_text", [](double share) { return replayer::percent_text(share * 100); },
      nb::arg("share"));
  module.def(
      "display_text", [](const nb::str& text) { return base::display_text(bytes_of(text)); },
      nb::arg("text"));
}

}  // namespace heaptape::python
