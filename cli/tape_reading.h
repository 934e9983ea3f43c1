// What the commands that read a tape share.
#pragma once

#include <string>

#include "cli/console.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

inline constexpr size_t kBatchEvents = 4096;

// Calls visit(batch) for everything that can be read from the reader's position on. The last batch
// may have no events.
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

// Opens a tape for a command that needs no more than what is there. Of one that was not finished,
// says so on the console, with how much there is.
base::Result<schema::TapeReader> open_tape(const std::string& path, schema::OnDamage on_damage,
                                           Console& console);

// "none", or what the recorder lost.
std::string losses_text(const schema::TapeLosses& losses);

// "'run.tape' is damaged at byte 4096: REASON", of the first damage. Requires that there is one.
std::string first_damage_text(const schema::TapeReader& tape);

}  // namespace heaptape::cli
