// The facts about the tape that a page shows.
#pragma once

#include "replayer/report/html/json_writer.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Writes an object: path, command, duration, losses.
void write_tape(JsonWriter& out, const schema::TapeReader& tape);

}  // namespace heaptape::replayer
