// "TAPE.symbols": the places of a tape's frames, so that the tape can be read where the programs
// and libraries that it names are not. docs/decisions/0023-symbols.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// Which tape symbols are of: as its header says.
struct TapeIdentity {
  uint64_t start_unix_ns = 0;
  uint32_t pid = 0;

  bool operator==(const TapeIdentity&) const = default;
};

struct SymbolFile {
  TapeIdentity tape;
  Symbols symbols;
};

// Whole or not at all.
base::Status write_symbols(const std::string& path, const Symbols& symbols,
                           const TapeIdentity& tape);

// Of any file: kForeign for what write_symbols did not write, kNewerVersion, kDamaged. Whether it
// is of the tape at hand, and has all its frames, is the caller's to check.
base::Result<SymbolFile> read_symbols(const std::string& path);

}  // namespace heaptape::replayer
