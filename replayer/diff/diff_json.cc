// The diff as JSON, through Cap'n Proto's JsonValue: reports already need that codec, and it writes
// strings and 64-bit integers the same way here. A schema would fix the type of a figure, which is
// an integer for some metrics and a float for others.
#include <capnp/compat/json.h>
#include <capnp/message.h>

#include <optional>
#include <string>
#include <vector>

#include "replayer/diff/diff_format.h"
#include "replayer/diff/diff_table.h"
#include "replayer/text/metric_text.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"

namespace heaptape::replayer {
namespace {

using schema::MetricValue;
using JsonBuilder = capnp::JsonValue::Builder;

constexpr double kDiffVersion = 1;  // fields are only ever added; a change of meaning raises it

// Fills the fields of one object in order.
class ObjectWriter {
 public:
  ObjectWriter(JsonBuilder value, size_t field_count)
      : fields_(value.initObject(static_cast<unsigned>(field_count))) {}

  JsonBuilder add(const std::string& name) {
    auto field = fields_[next_++];
    field.setName(name);
    return field.initValue();
  }
  void text(const std::string& name, const std::string& value) { add(name).setString(value); }
  void number(const std::string& name, double value) { add(name).setNumber(value); }
  void number(const std::string& name, const std::optional<MetricValue>& value) {
    JsonBuilder out = add(name);
    if (!value) return out.setNull();
    if (!schema::is_integer(*value)) return out.setNumber(std::get<double>(*value));
    schema::set_integer(out, std::get<uint64_t>(*value));
  }
  void strings(const std::string& name, const std::vector<std::string>& values) {
    auto out = add(name).initArray(static_cast<unsigned>(values.size()));
    for (unsigned i = 0; i < out.size(); ++i) out[i].setString(values[i]);
  }

 private:
  capnp::List<capnp::json::Value::Field>::Builder fields_;
  unsigned next_ = 0;
};

void write_side(JsonBuilder out, const ReportDiff::Side& side) {
  ObjectWriter object(out, 3);
  object.text("path", side.path);
  object.text("tape", side.tape);
  object.number("events", MetricValue(side.events));
}

void write_spread(JsonBuilder out, const schema::Spread& spread) {
  ObjectWriter object(out, 2);
  object.number("least", spread.least);
  object.number("greatest", spread.greatest);
}

void write_metric(JsonBuilder out, const MetricRow& row) {
  ObjectWriter object(
      out, 4U + row.base_spread.has_value() + row.now_spread.has_value() + row.is_noise());
  object.text("unit", schema::unit_name(row.unit));
  object.number("base", row.base);
  object.number("new", row.now);
  std::optional<MetricValue> percent;
  if (row.base && row.now) percent = percent_change(*row.base, *row.now);
  object.number("changePercent", percent);
  if (row.base_spread) write_spread(object.add("baseSpread"), *row.base_spread);
  if (row.now_spread) write_spread(object.add("newSpread"), *row.now_spread);
  if (row.is_noise()) object.add("isNoise").setBoolean(true);
}

const char* state_name(GateState state) {
  switch (state) {
    case GateState::kPassed:
      return "passed";
    case GateState::kFailed:
      return "failed";
    case GateState::kSkipped:
      break;
  }
  return "skipped";
}

void write_gate(JsonBuilder out, const GateOutcome& gate) {
  ObjectWriter object(out, 7);
  object.text("expression", gate.expression);
  object.text("run", gate.run);
  object.text("state", state_name(gate.state));
  object.number("base", gate.base);
  object.number("new", gate.now);
  std::optional<MetricValue> limit;
  if (gate.limit) limit = static_cast<double>(*gate.limit);
  object.number("limit", limit);
  object.text("detail", gate.detail);
}

void write_site(JsonBuilder out, const SiteChange& site, double share) {
  const bool is_estimate = site.error() != 0;
  ObjectWriter object(out, is_estimate ? 10 : 8);
  object.text("site", site.place.text);
  object.text("function", site.place.function);
  object.text("file", site.place.file);
  object.number("line", MetricValue(uint64_t{site.place.line}));
  object.text("module", site.place.module);
  object.number("base", MetricValue(site.base));
  object.number("new", MetricValue(site.now));
  object.number("shareOfChange", share);
  if (!is_estimate) return;
  object.number("baseError", MetricValue(site.base_error));
  object.number("newError", MetricValue(site.now_error));
}

template <typename Item, typename Write>
void write_array(JsonBuilder out, const std::vector<Item>& items, Write&& write) {
  auto array = out.initArray(static_cast<unsigned>(items.size()));
  for (unsigned i = 0; i < array.size(); ++i) write(array[i], items[i]);
}

void write_site_changes(JsonBuilder out, const SiteChanges& changes) {
  ObjectWriter object(out, 4);
  object.text("metric", changes.name);
  object.number("base", MetricValue(changes.base));
  object.number("new", MetricValue(changes.now));
  write_array(object.add("sites"), changes.sites,
              [&changes](JsonBuilder site_out, const SiteChange& site) {
                write_site(site_out, site, site.share(changes.base, changes.now));
              });
}

void write_size(JsonBuilder out, const CohortChange& change, double share) {
  ObjectWriter object(out, 10);
  std::optional<MetricValue> size;
  if (!change.is_other_sizes) size = change.size_bytes;
  std::optional<MetricValue> band;
  if (change.is_other_sizes && change.size_bytes != 0) band = change.size_bytes;
  object.number("sizeBytes", size);
  object.number("sizeBand", band);
  object.add("isAbout").setBoolean(change.is_about);
  object.number("baseCount", MetricValue(change.base_count));
  object.number("newCount", MetricValue(change.now_count));
  object.number("baseBytes", MetricValue(change.base_bytes));
  object.number("newBytes", MetricValue(change.now_bytes));
  object.number("shareOfChange", share);
  object.number("firstBirth", MetricValue(change.first_birth));
  object.number("lastBirth", MetricValue(change.last_birth));
}

void write_cohort_changes(JsonBuilder out, const CohortChanges& changes) {
  ObjectWriter object(out, changes.sites ? 5 : 4);
  if (changes.states.empty()) {
    object.text("moment", changes.moment);
  } else {
    object.strings("states", changes.states);
  }
  object.number("base", MetricValue(changes.base));
  object.number("new", MetricValue(changes.now));
  write_array(object.add("sizes"), changes.sizes,
              [&changes](JsonBuilder size_out, const CohortChange& change) {
                write_size(size_out, change, change.share(changes.base, changes.now));
              });
  if (changes.sites) write_site_changes(object.add("sites"), *changes.sites);
}

void write_summary(JsonBuilder out, const ChangeSummary& summary) {
  ObjectWriter object(out, 4);
  object.text("headline", summary.headline);
  object.text("run", summary.run);
  object.text("state", summary.state);
  write_array(object.add("parts"), summary.parts,
              [](JsonBuilder part_out, const ChangedPart& part) {
                ObjectWriter fields(part_out, 4);
                fields.text("kind", part.kind);
                fields.number("changeBytes", static_cast<double>(part.bytes));
                fields.text("text", part.text);
                fields.text("action", part.action);
              });
}

void write_run(JsonBuilder out, const RunDiff& run) {
  ObjectWriter object(out, 4);
  object.text("label", run.label);
  object.strings("notes", run.notes);
  write_array(object.add("pins"), run.pins, write_cohort_changes);
  ObjectWriter metrics(object.add("metrics"), run.rows.size());
  for (const MetricRow& row : run.rows) write_metric(metrics.add(row.name), row);
}

void write_diff(JsonBuilder out, const ReportDiff& diff) {
  ObjectWriter object(out, 13);
  object.number("version", kDiffVersion);
  write_side(object.add("base"), diff.base);
  write_side(object.add("new"), diff.now);
  object.text("warning", diff.warning);
  write_summary(object.add("summary"), diff.summary);
  object.strings("notes", diff.notes);
  write_array(object.add("runs"), diff.runs, write_run);
  write_array(object.add("cohorts"), diff.cohorts, write_cohort_changes);
  write_array(object.add("sites"), diff.sites, write_site_changes);
  write_array(object.add("gates"), diff.gates, write_gate);
  object.add("failed").setBoolean(diff.failed);
  object.strings("reasons", reasons_text(diff));
  object.text("verdict", diff.verdict());
}

}  // namespace

base::Result<std::string> to_json(const ReportDiff& diff) {
  return schema::guard_kj(base::ErrorCode::kDamaged, "cannot write the diff as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            const auto root = message.initRoot<capnp::JsonValue>();
                            write_diff(root, diff);
                            return schema::json_text(root.asReader());
                          });
}

}  // namespace heaptape::replayer
