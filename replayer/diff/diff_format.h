// A ReportDiff for people and for machines.
#pragma once

#include <cstdint>
#include <string>

#include "replayer/diff/diff.h"

namespace heaptape::replayer {

enum class DiffFormat : uint8_t {
  kText,      // aligned columns; the verdict is the last line
  kMarkdown,  // for a pull-request comment; the verdict is the first line
  kJson,      // every metric, exact; integers as in a report
  kJunit,     // one test suite, a test case for each gate and run
};

std::string to_text(const ReportDiff& diff);
std::string to_markdown(const ReportDiff& diff);
base::Result<std::string> to_json(const ReportDiff& diff);
std::string to_junit(const ReportDiff& diff);

base::Result<std::string> format_diff(const ReportDiff& diff, DiffFormat format);

}  // namespace heaptape::replayer
