// One heap at one moment, with the call sites of its blocks.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "replayer/engine/explain.h"
#include "replayer/sites/call_sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

struct ExplainedHeap {
  replayer::Explanation explanation;  // of a run that succeeded, with its picture and account
  std::optional<replayer::CallSites> calls;  // of calls_to_name(), if there were sites
};

// Finds the moment and shows the progress.
base::Result<replayer::ExplainedMoment> find_explained(schema::TapeReader& tape,
                                                       const replayer::ExplainOptions& options,
                                                       Console& console);

// Replays up to the moment and shows the progress. Nothing if the allocator failed: the console has
// reported it. Fails if there is no account. `sites` may be null, and must outlive the result.
base::Result<std::optional<ExplainedHeap>> explain_heap(schema::TapeReader& tape,
                                                        const replayer::ExplainOptions& options,
                                                        const replayer::ExplainedMoment& explained,
                                                        const replayer::Sites* sites,
                                                        Console& console);

}  // namespace heaptape::cli
