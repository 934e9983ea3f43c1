// The verdict on a replay. docs/metrics.md, "The verdict".
#pragma once

#include <string>
#include <vector>

#include "replayer/answers/verdict.h"
#include "replayer/engine/replay.h"
#include "replayer/sites/call_sites.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// `runs` must have their accounts (moments) and belong to the figures; `family` is the recorded
// allocator's, empty if unknown.
Verdict judge_runs(const std::string& family, const schema::ReportFigures& report,
                   const std::vector<RunResult>& runs);

// Calls whose sites the verdict would name; empty if it names none.
std::vector<uint64_t> calls_of(const Verdict& verdict);
// `calls` are the sites of calls_of().
void name_sites(const CallSites& calls, Verdict& verdict);
// Adds who asked for most live bytes, if the verdict is about the peak.
void name_live(const SiteTable& table, const Sites& sites, Verdict& verdict);

// The headline, and a numbered finding for each line with what to do below it, indented.
std::string verdict_text(const Verdict& verdict, const std::string& tape_path);

}  // namespace heaptape::replayer
