// What a replay comes to, in a sentence or two.
#pragma once

#include <string>
#include <vector>

#include "replayer/answers/account.h"
#include "replayer/report/run_summary.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// Which run holds least. Without a choice what told_run() holds; without that, that no run came to
// its end.
std::string verdict(const std::vector<BestRun>& best, const schema::RunFigures* told);

// "Of the 3.91 KiB resident on glibc at the exit: 75.0% live, 25.0% holes between blocks; 2.00 KiB
// more are given back.", `where` being what follows the bytes. Parts of less than 1% are left out.
std::string parts_text(const Account& account, const std::string& where);

// "resident on glibc"; "in the heap of recorded", whose resident pages are not known.
std::string heap_words(const std::string& label, const std::string& backend);

// Where the memory of the run is in a state, "atPlateau"; empty where it has no account.
std::string where_it_is(const schema::RunFigures* told, const std::string& state);

// "Of the 407 B live at the peak, 98.3% were asked for by lex (lex.h:3).", of the site that has
// most; empty where none is known.
std::string who_has_it(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
