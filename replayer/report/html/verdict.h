// What a replay comes to, in a sentence or two.
#pragma once

#include <string>
#include <vector>

#include "replayer/report/run_summary.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// Which run holds least. Of a single one what it holds; of none that came to its end, that.
std::string verdict(const schema::ReportFigures& report, const std::vector<BestRun>& best);

// Where the memory of the best run is at the second state, or of the only one; empty where no run
// has an account.
std::string where_it_is(const schema::ReportFigures& report, const std::vector<BestRun>& best);

// "Of the 407 B live at the peak, 98.3% were asked for by lex (lex.h:3).", of the site that has
// most; empty where none is known.
std::string who_has_it(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
