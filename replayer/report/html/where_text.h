// Where the memory of a run is, in a sentence.
#pragma once

#include <string>

#include "replayer/answers/account.h"
#include "schema/report/report_metrics.h"

namespace heaptape::replayer {

// "The 3.91 KiB resident on glibc at the exit: 75.0% live, 25.0% holes between blocks; another 2.00
// KiB were returned to the system."; `where` is the text after the bytes. Omits parts below 1%.
std::string parts_text(const Account& account, const std::string& where);

// "resident on glibc"; "in the recorded heap", whose resident pages are unknown.
std::string heap_words(const std::string& label, const std::string& backend);

// Where the memory of the run is in a state, "atPlateau"; empty if it has no account.
std::string where_it_is(const schema::RunFigures* told, const std::string& state);

}  // namespace heaptape::replayer
