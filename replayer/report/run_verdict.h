// The verdict on a replay, from its runs. docs/metrics.md, "The verdict".
#pragma once

#include <cstdint>
#include <vector>

#include "replayer/answers/verdict.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/call_sites.h"
#include "replayer/sites/site_table.h"
#include "replayer/sites/sites.h"
#include "replayer/sites/stack_profile.h"
#include "schema/report/report_metrics.h"
#include "schema/tape/tape_info.h"

namespace heaptape::replayer {

// `runs`, of replay() with these options, must have their accounts (moments) and belong to the
// figures.
Verdict judge_runs(const schema::TapeHeader& tape, const schema::ReportFigures& report,
                   const std::vector<RunResult>& runs, const ReplayOptions& options);

// Calls whose sites the verdict would name; empty if it names none.
std::vector<uint64_t> calls_of(const Verdict& verdict);
// `calls` are the sites of calls_of().
void name_sites(const CallSites& calls, Verdict& verdict);
// Names the site with most live bytes. `profile` has counted the calls up to the verdict's moment.
void name_live(const StackProfile& profile, const Sites& sites, Verdict& verdict);
// The same from a table of a tape with so many calls; false if it does not have that moment, which
// is neither the peak nor the end.
bool name_live(const SiteTable& table, uint64_t calls, const Sites& sites, Verdict& verdict);

}  // namespace heaptape::replayer
