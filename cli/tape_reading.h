// Helpers shared by the commands that read a tape.
#pragma once

#include <string>

#include "cli/console.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

inline constexpr size_t kBatchEvents = 4096;

// Calls visit(batch) for everything readable from the reader's position. The last batch may have no
// events.
template <typename Visit>
base::Status for_each_batch(schema::TapeReader& tape, Visit visit) {
  schema::EventBatch batch;
  for (;;) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    if (batch.empty()) return {};
    visit(batch);
    if (batch.events.empty()) return {};
  }
}

// Opens a tape for a command that also accepts an unfinished one. Reports on the console that a
// tape is unfinished, and how much there is of it; and why the heap that it inherited is not known.
base::Result<schema::TapeReader> open_tape(const std::string& path, schema::OnDamage on_damage,
                                           Console& console);

// Fails if the calls `from` to `to`, counted from 1, are none or begin after the tape's end.
base::Status check_range(uint64_t from, uint64_t to, const schema::TapeReader& tape);

// "none", or the recorder's losses; then the calls that heaptape could not see, if any.
std::string losses_text(const schema::TapeSummary& summary);

// "40 calls free or resize blocks from before", of a recording that began late.
std::string unseen_frees_text(const schema::TapeSummary& summary);

// "'run.tape' is damaged at byte 4096: REASON", for the first damage, which must exist.
std::string first_damage_text(const schema::TapeReader& tape);

// Calls that are not on the tape, in a line: "losses: 0 calls lost while recording".
std::string losses_line(const schema::TapeReader& tape);

}  // namespace heaptape::cli
