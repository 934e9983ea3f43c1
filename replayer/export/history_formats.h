// A heap over time in the formats of viewers of traces.
#pragma once

#include <cstdint>
#include <string>

#include "replayer/export/heap_history.h"
#include "replayer/export/shown_stacks.h"
#include "replayer/sites/site_table.h"

namespace heaptape::replayer {

struct RecordedProcess {
  uint32_t pid = 0;            // 0: unknown
  std::string name;            // of the program
  uint64_t start_unix_ns = 0;  // when the recording began; 0: unknown
};

// For https://ui.perfetto.dev: perfetto.protos.Trace of
// https://github.com/google/perfetto/tree/main/protos/perfetto/trace. A counter for each series, an
// instant event for each mark and moment, and a heap profile at each moment. `stacks`: null if the
// tape has none.
std::string perfetto_trace(const RecordedProcess& process, const HeapHistory& history,
                           const ShownStacks* stacks);

// For https://profiler.firefox.com: a processed profile of version 70, as in
// https://github.com/firefox-devtools/profiler/blob/main/src/types/profile.ts. JSON. A counter for
// each series; markers for marks and moments; and the blocks of the stacks as native allocations of
// one thread over time, and of two more at the peak and at the end. `shown`: the thread that is
// selected first. `stacks`: null if the tape has none.
std::string firefox_profile(const RecordedProcess& process, const HeapHistory& history,
                            const ShownStacks* stacks, StackValue shown);

}  // namespace heaptape::replayer
