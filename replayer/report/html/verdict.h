// Sums up a replay in a sentence or two.
#pragma once

#include <string>
#include <vector>

#include "replayer/answers/account.h"
#include "replayer/report/run_summary.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// Names the run that holds least. Without a choice, says how much told_run() holds; without that,
// that no run finished.
std::string verdict(const std::vector<BestRun>& best, const schema::RunFigures* told);

// "The 3.91 KiB resident on glibc at the exit: 75.0% live, 25.0% holes between blocks; another 2.00
// KiB were returned to the system."; `where` is the text after the bytes. Omits parts below 1%.
std::string parts_text(const Account& account, const std::string& where);

// "resident on glibc"; "in the heap of recorded", whose resident pages are unknown.
std::string heap_words(const std::string& label, const std::string& backend);

// Where the memory of the run is in a state, "atPlateau"; empty if it has no account.
std::string where_it_is(const schema::RunFigures* told, const std::string& state);

// "98.3% of the 407 B live at the peak were requested by lex (lex.h:3).", for the top site; empty
// if none is known.
std::string who_has_it(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
