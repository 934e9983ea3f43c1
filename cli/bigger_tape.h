// Whether the tape at hand is that of a wrapper: a shell, a launcher, a compiler's driver, which
// did little but start the program that is meant.
#pragma once

#include <optional>

#include "cli/console.h"
#include "schema/tape/manifest.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

// The process of the same recording with most calls, as TAPE.manifest.json lists it. Nothing unless
// its tape lies beside this one, and has ten times its calls or more.
std::optional<schema::ManifestProcess> bigger_tape(const schema::TapeReader& tape);

// Names that tape in one line. For commands whose figures are of the program and not of its
// wrapper.
void note_bigger_tape(const schema::TapeReader& tape, Console& console);

}  // namespace heaptape::cli
