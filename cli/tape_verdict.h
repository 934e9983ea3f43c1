// The verdict on a tape: `heaptape explain` without an allocator, and its call sites for `replay`.
#pragma once

#include <functional>
#include <vector>

#include "allocators/catalog/backend_spec.h"
#include "base/result.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "replayer/answers/verdict.h"
#include "replayer/engine/replay.h"
#include "replayer/report/report_builder.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

// The allocators of `heaptape replay` without -a, as far as installed and as the tape allows.
std::vector<allocators::BackendSpec> default_specs(const schema::TapeReader& tape,
                                                   Console& console);

// Fills in the moments and the process of `options`, then replays. `before_replay` may look at
// these and change the rest.
base::Result<std::vector<replayer::RunResult>> find_moments_and_replay(
    schema::TapeReader& tape, replayer::ReplayOptions& options, Console& console,
    const std::function<base::Status()>& before_replay = {});

// Prints an error for each run that failed. Returns the exit code.
int tell_failures(const schema::ReportFigures& report, Console& console);

// Names the sites of the blocks in the verdict. `ranked` may be null: then the call stacks of the
// tape are read, if it has any and there are blocks to name. Moves the reader.
base::Status name_sites(schema::TapeReader& tape, const replayer::RankedSites* ranked,
                        const replayer::SiteFilters& filters,
                        const replayer::SymbolOptions& symbols, Console& console,
                        replayer::Verdict& verdict);

// Replays the tape of `options`, which name no allocator, and prints the verdict. Returns the exit
// code.
base::Result<int> explain_verdict(const ExplainCommandOptions& options, Console& console);

}  // namespace heaptape::cli
