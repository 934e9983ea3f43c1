// What a page says of the tape that it is about.
#pragma once

#include "replayer/report/html/json_writer.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// An object: path, command, how long it ran, what of it is lost.
void write_tape(JsonWriter& out, const schema::TapeReader& tape);

}  // namespace heaptape::replayer
