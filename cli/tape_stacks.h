// The call stacks of a tape, for commands that need them.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/console.h"
#include "replayer/sites/site_rules.h"
#include "replayer/symbols/symbol_options.h"
#include "replayer/symbols/symbols.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {

struct TapeStacks {
  schema::Stacks stacks;
  replayer::Symbols symbols;  // of all frames of `stacks`
};

// Which of the stacks of a tape.
struct StacksWanted {
  // Null: all of them. Else those of the blocks of this keyframe, and of the calls behind it up to
  // `until`.
  const schema::Keyframe* keyframe = nullptr;
  uint64_t until = UINT64_MAX;
};

// Reads the whole tape once, and rewinds it. A tape without stacks is kUsage. Symbols come from the
// file beside the tape, if there is one. If that was written before the tape was finished, or the
// user says where to look, they come from the programs and libraries first and then from the file;
// notes report those still missing. Call it while there is only one thread.
base::Result<TapeStacks> read_tape_stacks(schema::TapeReader& tape,
                                          const replayer::SymbolOptions& options, Console& console,
                                          const StacksWanted& wanted = {});

// The same, but nothing for a tape without stacks if there are no filters.
base::Result<std::optional<TapeStacks>> read_stacks_if_any(schema::TapeReader& tape,
                                                           const replayer::SiteFilters& filters,
                                                           const replayer::SymbolOptions& options,
                                                           Console& console,
                                                           const StacksWanted& wanted = {});

// The error if `--only` matches no site of a tape.
base::Error no_site_shown(const schema::TapeReader& tape);

// Like read_tape_stacks, but ignores the file beside the tape.
base::Result<TapeStacks> symbolize_tape(schema::TapeReader& tape,
                                        const replayer::SymbolOptions& options, Console& console);

// The file beside the tape, written by `heaptape symbolize`. TAPE.partial uses the file of TAPE, so
// that the finished tape finds it.
std::string symbol_path(const std::string& tape_path);

}  // namespace heaptape::cli
