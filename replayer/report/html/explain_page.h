// What `heaptape explain --html` writes. docs/howto-html.md, "One moment".
#pragma once

#include <string>

#include "base/result.h"
#include "replayer/report/explain_text.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// One file. Requires what explanation_text() does, and fails as explanation_json() does. Every
// figure is that of explanation_json().
base::Result<std::string> explain_page(const schema::TapeReader& tape,
                                       const Explanation& explanation, const HolesOptions& options,
                                       const CallSites* sites);

}  // namespace heaptape::replayer
