// The formats of other tools' traces: one list, and a file NAME_format.cc for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "recorder/import/imported_events.h"
#include "recorder/import/trace_input.h"
#include "schema/tape/tape_info.h"

namespace heaptape::recorder {

// Facts about a whole trace, told by its beginning.
struct TraceOutline {
  uint32_t absent = 0;  // bits of schema::Absent, beyond those of its format
  std::vector<std::string> command_line = {};
  std::string executable = {};
};

struct TraceFormat {
  const char* name;         // as `heaptape import` takes it
  const char* description;  // one line: who writes such traces
  uint32_t absent;          // bits of schema::Absent: missing from every trace of the format
  // Consumes nothing. kForeign if this is not such a trace.
  base::Result<TraceOutline> (*look)(TraceInput& input);
  // Reads to the end, counting what it cannot read.
  void (*read)(TraceInput& input, ImportedEvents& events);
  const char* may_lack = "";        // from some traces, for people: "; munged also addresses"
  const char* place_name = "line";  // of malformed pieces: "line", or "byte" of a binary trace
};

template <typename... Names>
constexpr uint32_t absent_bits(Names... names) {
  return (0U | ... | static_cast<uint32_t>(names));
}

const TraceFormat& android_format();
const TraceFormat& heaptrack_format();
const TraceFormat& logalloc_format();
const TraceFormat& malloc_bench_format();
const TraceFormat& mallocbench_format();
const TraceFormat& malloclab_format();
const TraceFormat& malt_format();
const TraceFormat& mtrace2_format();
const TraceFormat& mtrace_format();
const TraceFormat& trace_replay_format();
const TraceFormat& wee_alloc_format();

// In the order of `heaptape import list`.
const std::vector<TraceFormat>& trace_formats();

// kUsage if there is none of that name.
base::Result<TraceFormat> find_trace_format(const std::string& name);

}  // namespace heaptape::recorder
