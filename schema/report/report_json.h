// Reports to and from JSON, by Cap'n Proto's codec: the keys are the fields of report.capnp and
// integers are as in schema/json_text.h; integers are also read from strings. Pulls in generated
// code: for the .cc files that build or read whole reports. Those that only need the numbers
// include report_metrics.h.
#pragma once

#include <capnp/compat/json.capnp.h>
#include <capnp/message.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schema/report/report.capnp.h"

namespace heaptape::schema {

constexpr uint64_t kMaxReportBytes = uint64_t{256} << 20;

// Pretty-printed, with a newline at the end. Invalid UTF-8 (in a path, say) is replaced by U+FFFD.
base::Result<std::string> to_json(wire::Report::Reader report);

// A report and its memory. Move-only.
class ParsedReport {
 public:
  // Valid while this object lives, even after a move.
  wire::Report::Reader root() const { return root_; }
  // The text as values: a number that it omits reads as 0 in root().
  capnp::json::Value::Reader json() const { return json_; }

 private:
  friend base::Result<ParsedReport> parse_report(const std::string&, std::string_view);
  using Message = std::unique_ptr<capnp::MallocMessageBuilder>;
  ParsedReport(Message json, Message report)
      : json_message_(std::move(json)),
        message_(std::move(report)),
        json_(json_message_->getRoot<capnp::json::Value>().asReader()),
        root_(message_->getRoot<wire::Report>().asReader()) {}

  Message json_message_;
  Message message_;
  capnp::json::Value::Reader json_;
  wire::Report::Reader root_;
};

// `path` is for messages only. Hostile text costs at most about 1.3 GiB of memory and no deep
// stack: see the limits in report_json.cc.
base::Result<ParsedReport> parse_report(const std::string& path, std::string_view text);

// The report in the file `path`, of at most kMaxReportBytes.
base::Result<ParsedReport> read_report(const std::string& path);

}  // namespace heaptape::schema
