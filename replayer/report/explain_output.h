// Output of `heaptape explain` and `heaptape holes`. docs/metrics.md, "The account" and
// "Holes and pins".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "replayer/engine/explain.h"
#include "replayer/sites/call_sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Limits for long lists.
struct HolesOptions {
  uint64_t min_bytes = 0;        // for holes to be listed individually
  size_t top = 10;               // how many of these, of groups of pins, and of growths
  size_t most_sites = SIZE_MAX;  // in JSON
};

// For people. Both end in a newline. They require that the run succeeded and has an account.
// `sites` are those of calls_to_name(), or null if the tape has no stacks.
std::string explanation_text(const schema::TapeReader& tape, const Explanation& explanation,
                             const HolesOptions& options, const CallSites* sites);
std::string holes_text(const schema::TapeReader& tape, const Explanation& explanation,
                       const HolesOptions& options, const CallSites* sites);

// Explanation of report.capnp as JSON: `options` and `sites` as for holes_text(). Fails only if it
// is too large for Cap'n Proto.
base::Result<std::string> explanation_json(const schema::TapeReader& tape,
                                           const Explanation& explanation,
                                           const HolesOptions& options, const CallSites* sites);

}  // namespace heaptape::replayer
