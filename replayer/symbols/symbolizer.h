// The source of all frames of a tape, from the files of the programs and libraries that it names.
// docs/decisions/0023-symbols.md.
#pragma once

#include <string>
#include <vector>

#include "replayer/symbols/symbol_options.h"
#include "replayer/symbols/symbols.h"
#include "schema/tape/stack.h"

namespace heaptape::replayer {

struct SymbolizedTape {
  Symbols symbols;
  // Says what is missing and why: a sentence on all files without debug information, and one for
  // each other that frames return into and that did not give functions and lines.
  std::vector<std::string> notes;
};

// Uses `known`, if it is not null, for frames of this tape about which the files know less: no
// function, or none with a line. Never fails: an unknown place stays an offset. Neither the tape
// nor the files that it names are trusted: a fork of this process reads each file (see
// run_confined; call this while there is one thread).
SymbolizedTape symbolize(const schema::Stacks& stacks, const SymbolOptions& options,
                         const Symbols* known = nullptr);

}  // namespace heaptape::replayer
