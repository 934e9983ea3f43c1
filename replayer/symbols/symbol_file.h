// "TAPE.symbols": the places of a tape's frames, so that the tape can be read on a machine without
// the programs and libraries that it names. docs/decisions/0023-symbols.md.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "replayer/symbols/symbols.h"

namespace heaptape::replayer {

// The tape that symbols belong to, by its header.
struct TapeIdentity {
  uint64_t start_unix_ns = 0;
  uint32_t pid = 0;
  schema::FrameNumber joined_frames = 0;  // TapeReader

  bool operator==(const TapeIdentity&) const = default;
};

struct SymbolFile {
  TapeIdentity tape;
  Symbols symbols;
};

// Writes all or nothing.
base::Status write_symbols(const std::string& path, const Symbols& symbols,
                           const TapeIdentity& tape);

// Reads any file: kForeign if write_symbols did not write it, kNewerVersion, kDamaged. The caller
// checks that it belongs to the tape at hand, and has all its frames.
base::Result<SymbolFile> read_symbols(const std::string& path);

}  // namespace heaptape::replayer
