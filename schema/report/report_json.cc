#include "schema/report/report_json.h"

#include <capnp/compat/json.h>

#include <algorithm>
#include <utility>

#include "base/display_text.h"
#include "base/output_file.h"
#include "schema/json_escapes.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report_metrics.h"

namespace heaptape::schema {
namespace {

using base::quoted;

// Bounds the memory of a parse and the time of a diff. The codec uses about 100 bytes for a JSON
// value, which may be two bytes of text. 8 Mi values are 50 runs with 10,000 samples each.
constexpr uint64_t kMaxValues = 8u << 20;
constexpr uint32_t kMaxCounters = 1000;   // in each run
constexpr uint32_t kMaxLatencies = 1000;  // the same
constexpr uint32_t kMaxSites = 10'000;    // of the tape

base::Error not_a_report(const std::string& path, const std::string& why) {
  return base::Error::foreign(quoted(path) + " is not a heaptape report: " + why +
                              "; give a file that `heaptape replay -o` wrote");
}

// An upper bound on the values in `text`: each is first in its container or follows a comma.
uint64_t most_values(std::string_view text) {
  return 1 + static_cast<uint64_t>(std::count_if(text.begin(), text.end(), [](char c) {
           return c == ',' || c == '[' || c == '{';
         }));
}

base::Status check_version(const std::string& path, capnp::JsonValue::Reader version) {
  const double number = version.isNumber() ? version.getNumber() : 0;
  if (!(number >= 1 && number <= UINT32_MAX) || number != static_cast<uint32_t>(number)) {
    return not_a_report(path, "its \"version\" is not a version number");
  }
  const auto found = static_cast<uint32_t>(number);
  if (found == wire::REPORT_VERSION) return {};
  return base::Error::newer_version(
      quoted(path) + " is a report of version " + std::to_string(found) +
      ", and this heaptape reads version " + std::to_string(wire::REPORT_VERSION) +
      ": use the heaptape that wrote it, or replay the tape again with this one");
}

// Checks `json` before it is decoded, because the codec ignores unknown keys and would make an
// empty report of any object.
base::Status check_outline(const std::string& path, capnp::JsonValue::Reader json) {
  if (!json.isObject()) return not_a_report(path, "it is not a JSON object");
  bool has_version = false;
  bool has_tape = false;
  for (const auto field : json.getObject()) {
    const kj::StringPtr name = field.getName();
    const auto value = field.getValue();
    if (name == "version") {
      has_version = true;
      HEAPTAPE_RETURN_IF_ERROR(check_version(path, value));
    }
    has_tape |= name == "tape";
    if (name == "runs" && value.isArray() && value.getArray().size() > kMaxRuns) {
      return not_a_report(path, "it has more than " + std::to_string(kMaxRuns) + " runs");
    }
  }
  if (!has_version) return not_a_report(path, "it has no \"version\"");
  if (!has_tape) return not_a_report(path, "it has no \"tape\"");
  return {};
}

base::Status check_lists(const std::string& path, wire::Report::Reader report) {
  if (report.getTape().getSites().getList().size() > kMaxSites) {
    return not_a_report(path, "it has more than " + std::to_string(kMaxSites) + " call sites");
  }
  for (const auto run : report.getRuns()) {
    if (run.getCounters().size() > kMaxCounters) {
      return not_a_report(path,
                          "a run has more than " + std::to_string(kMaxCounters) + " counters");
    }
    if (run.getLatency().size() > kMaxLatencies) {
      return not_a_report(path,
                          "a run has more than " + std::to_string(kMaxLatencies) + " latencies");
    }
  }
  return {};
}

}  // namespace

base::Result<std::string> to_json(wire::Report::Reader report) {
  return guard_kj(base::ErrorCode::kDamaged, "cannot write the report as JSON",
                  [&]() -> base::Result<std::string> { return json_text(report); });
}

base::Result<ParsedReport> parse_report(const std::string& path, std::string_view text) {
  if (most_values(text) > kMaxValues) return not_a_report(path, "it holds too many values");
  capnp::JsonCodec codec;  // itself refuses more than 64 levels of nesting
  auto json_message = std::make_unique<capnp::MallocMessageBuilder>();
  HEAPTAPE_RETURN_IF_ERROR(guard_kj(
      base::ErrorCode::kDamaged, quoted(path) + " is not well-formed JSON", [&]() -> base::Status {
        const auto json = json_message->initRoot<capnp::JsonValue>();
        const std::string plain = without_unicode_escapes(text);
        codec.decodeRaw(kj::arrayPtr(plain.data(), plain.size()), json);
        return {};
      }));
  return guard_kj(base::ErrorCode::kDamaged, quoted(path) + " is not a well-formed report",
                  [&]() -> base::Result<ParsedReport> {
                    const auto json = json_message->getRoot<capnp::JsonValue>().asReader();
                    HEAPTAPE_RETURN_IF_ERROR(check_outline(path, json));
                    auto message = std::make_unique<capnp::MallocMessageBuilder>();
                    codec.decode(json, message->initRoot<wire::Report>());
                    ParsedReport report(std::move(json_message), std::move(message));
                    HEAPTAPE_RETURN_IF_ERROR(check_lists(path, report.root()));
                    return report;
                  });
}

base::Result<ParsedReport> read_report(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string text, base::read_file(path, kMaxReportBytes));
  return parse_report(path, text);
}

}  // namespace heaptape::schema
