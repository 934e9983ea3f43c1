// What `heaptape explain` and `heaptape holes` say, for people. docs/metrics.md, "The account" and
// "Holes and pins".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "replayer/engine/explain.h"
#include "replayer/sites/call_sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Of what there are many.
struct HolesOptions {
  uint64_t min_bytes = 0;        // of the holes that are shown one by one
  size_t top = 10;               // how many of these, of groups of pins, and of growths
  size_t most_sites = SIZE_MAX;  // in JSON
};

// Both end in a newline. They require that the run did not fail, and has an account. `sites`: of
// calls_to_name(); null where the tape has no stacks.
std::string explanation_text(const schema::TapeReader& tape, const Explanation& explanation,
                             const HolesOptions& options, const CallSites* sites);
std::string holes_text(const schema::TapeReader& tape, const Explanation& explanation,
                       const HolesOptions& options, const CallSites* sites);

}  // namespace heaptape::replayer
