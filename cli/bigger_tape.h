// Detects the tape of a wrapper: a shell, launcher or compiler driver that did little but start the
// program that the user means.
#pragma once

#include <optional>

#include "cli/console.h"
#include "schema/tape/manifest.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

// The process of the same recording with the most calls, according to TAPE.manifest.json. Nothing
// unless its tape lies beside this one and has at least ten times its calls.
std::optional<schema::ManifestProcess> bigger_tape(const schema::TapeReader& tape);

// Names that tape in one line, for commands whose figures describe the program and not its wrapper.
void note_bigger_tape(const schema::TapeReader& tape, Console& console);

}  // namespace heaptape::cli
