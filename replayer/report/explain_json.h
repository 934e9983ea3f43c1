// Writes `heaptape explain --json` and `heaptape holes --json`: Explanation of report.capnp.
#pragma once

#include <string>

#include "base/result.h"
#include "replayer/report/explain_text.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// `options` and `sites` as for holes_text(). Fails only if it is too large for Cap'n Proto.
base::Result<std::string> explanation_json(const schema::TapeReader& tape,
                                           const Explanation& explanation,
                                           const HolesOptions& options, const CallSites* sites);

}  // namespace heaptape::replayer
