// One heap at one moment, with the names of who asked for its blocks.
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
  replayer::Explanation explanation;  // of a run that did not fail, with its picture and account
  std::optional<replayer::CallSites> calls;  // of calls_to_name(), if there were sites
};

// Replays as far as the moment, and shows the progress. Nothing where the allocator failed:
// `console` has been told. Fails where there is no account. `sites` may be null, and outlives what
// is returned.
base::Result<std::optional<ExplainedHeap>> explain_heap(schema::TapeReader& tape,
                                                        const replayer::ExplainOptions& options,
                                                        const replayer::Sites* sites,
                                                        Console& console);

}  // namespace heaptape::cli
