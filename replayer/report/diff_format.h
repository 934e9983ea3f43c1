// A ReportDiff for people and for machines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "replayer/report/diff.h"

namespace heaptape::replayer {

enum class DiffFormat : uint8_t {
  kText,      // aligned columns; the verdict is the last line
  kMarkdown,  // for a pull-request comment; the verdict is the first line
  kJson,      // every metric, exact; 64-bit integers are strings, as in a report
  kJunit,     // one test suite, one test case for each gate and run
};

std::string to_text(const ReportDiff& diff);
std::string to_markdown(const ReportDiff& diff);
base::Result<std::string> to_json(const ReportDiff& diff);
std::string to_junit(const ReportDiff& diff);

base::Result<std::string> format_diff(const ReportDiff& diff, DiffFormat format);

// `text` as content or attribute value of XML and HTML. Expects what display_text gives.
std::string xml_escaped(std::string_view text);

// `text` as literal words of Markdown, also in a table cell. Expects what display_text gives.
std::string markdown_escaped(std::string_view text);

}  // namespace heaptape::replayer
