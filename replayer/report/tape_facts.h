// What a tape says about itself, for `heaptape info`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// "exited with status 0".
std::string end_text(const schema::TapeSummary& summary);

// The second, in UTC: "2026-11-22T16:59:19Z".
std::string utc_text(uint64_t unix_ns);

// As the calls say up to the first for a block. The reader then stands at the beginning.
base::Result<bool> has_stacks(schema::TapeReader& tape);

struct StackFacts {
  uint64_t frames = 0;   // of all stacks: what two stacks share counts once
  uint64_t deepest = 0;  // frames of the deepest stack
};
StackFacts stack_facts(const schema::Stacks& stacks);
// Nothing of a tape without stacks; of others a pass over the tape. The reader then stands at the
// beginning.
base::Result<std::optional<StackFacts>> read_stack_facts(schema::TapeReader& tape);

// TapeFacts of report.capnp as JSON. `stacks` is nothing where the tape has none. Fails only when a
// text is longer than Cap'n Proto takes.
base::Result<std::string> facts_json(const schema::TapeReader& tape,
                                     const std::optional<StackFacts>& stacks);

}  // namespace heaptape::replayer
