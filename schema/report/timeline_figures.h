// The timeline of a run as plain lists. The series and their names are the fields of Timeline in
// report.capnp, so code that draws them need not change for a new one. Free of Cap'n Proto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/report/report_metrics.h"

namespace heaptape::schema {

struct TimelineFigures {
  struct Series {
    std::string name;  // as in CSV headers: "residentBytes", "holes.largest"
    MetricUnit unit = MetricUnit::kCount;
    std::vector<uint64_t> values;  // by sample
  };
  std::vector<uint64_t> at;       // by sample: after so many calls; empty if the run failed
  std::vector<uint64_t> time_ns;  // since the recording began; 0 if the tape has no times
  std::vector<Series> series;     // those of the run, in the order of report.capnp
};

// With the run's label and allocator, both printable.
struct RunTimeline {
  std::string label;
  std::string backend;
  TimelineFigures timeline;
};

}  // namespace heaptape::schema
