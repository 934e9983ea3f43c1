// A report that is parsed once, for code that needs several of its parts. Free of Cap'n Proto.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/report/report_metrics.h"
#include "schema/report/stack_tree.h"
#include "schema/report/timeline_figures.h"

namespace heaptape::schema {

class ParsedReport;  // report_json.h

// Each part fails with kDamaged if it is.
class ReportFile {
 public:
  // Fails if the file `path` is not a report.
  static base::Result<ReportFile> read(const std::string& path);

  base::Result<ReportFigures> figures() const;
  // Nothing if the tape had no stacks, or an older heaptape wrote the report. Fails also if the
  // frames come to more than 64 MiB of text.
  base::Result<std::optional<StackTree>> stack_tree() const;
  // By run.
  base::Result<std::vector<RunTimeline>> timelines() const;

 private:
  ReportFile(std::string path, std::shared_ptr<const ParsedReport> report);

  std::string path_;
  std::shared_ptr<const ParsedReport> report_;
};

}  // namespace heaptape::schema
