#include "cli/tape_stacks.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/display_text.h"
#include "replayer/symbols/symbol_file.h"
#include "replayer/symbols/symbolizer.h"

namespace heaptape::cli {
namespace {

using base::Result;
using replayer::Symbols;

bool has_frames(const schema::Stacks& stacks) {
  return stacks.limit() > 1;
}

Result<schema::Stacks> read_stacks(schema::TapeReader& tape) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, tape.read_stacks());
  if (has_frames(stacks)) return stacks;
  return base::Error::usage(base::quoted(tape.path()) +
                            " has no call stacks: record the program with `heaptape record "
                            "--stacks dwarf`");
}

// Nothing where there is no file of this tape beside it.
std::optional<Symbols> read_symbols_beside(const schema::TapeReader& tape,
                                           const schema::Stacks& stacks, Console& console) {
  const std::string path = symbol_path(tape.path());
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  auto read = replayer::read_symbols(path);
  const replayer::TapeIdentity identity{tape.header().start_unix_ns, tape.header().pid};
  if (!read.ok()) {
    console.print_note(read.error().message + "; it is not used");
  } else if (!(read->tape == identity) || read->symbols.limit() < stacks.limit()) {
    console.print_note(base::quoted(path) + " is of another tape: it is not used");
  } else {
    return std::move(read->symbols);
  }
  return std::nullopt;
}

// As its calls say up to the first for a block. The reader then stands at the beginning.
Result<bool> tape_has_stacks(schema::TapeReader& tape) {
  constexpr size_t kBatchCalls = 4096;
  schema::EventBatch batch;
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  do {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchCalls));
    const auto gives_a_block = [](const schema::Event& event) {
      return schema::op_info(event.op).kind != schema::OpKind::kRelease;
    };
    if (std::ranges::any_of(batch.events, gives_a_block)) break;
  } while (!batch.events.empty());
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  return !batch.stacks.empty();
}

TapeStacks symbolize_stacks(schema::Stacks stacks, const replayer::SymbolOptions& options,
                            Console& console) {
  replayer::SymbolizedTape symbolized = replayer::symbolize(stacks, options);
  for (const std::string& note : symbolized.notes) console.print_note(note);
  return {std::move(stacks), std::move(symbolized.symbols)};
}

TapeStacks with_symbols(const schema::TapeReader& tape, schema::Stacks stacks,
                        const replayer::SymbolOptions& options, Console& console) {
  const bool says_where = options.debuginfod || !options.debug_dirs.empty();
  auto symbols = says_where ? std::nullopt : read_symbols_beside(tape, stacks, console);
  if (symbols) return {std::move(stacks), std::move(*symbols)};
  return symbolize_stacks(std::move(stacks), options, console);
}

}  // namespace

std::string symbol_path(const std::string& tape_path) {
  return tape_path + ".symbols";
}

Result<TapeStacks> symbolize_tape(schema::TapeReader& tape, const replayer::SymbolOptions& options,
                                  Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_stacks(tape));
  return symbolize_stacks(std::move(stacks), options, console);
}

Result<TapeStacks> read_tape_stacks(schema::TapeReader& tape,
                                    const replayer::SymbolOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_stacks(tape));
  return with_symbols(tape, std::move(stacks), options, console);
}

Result<std::optional<TapeStacks>> read_stacks_if_any(schema::TapeReader& tape,
                                                     const replayer::SymbolOptions& options,
                                                     Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(const bool has_stacks, tape_has_stacks(tape));
  if (!has_stacks) return std::optional<TapeStacks>();
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, tape.read_stacks());
  if (!has_frames(stacks)) return std::optional<TapeStacks>();
  return std::optional(with_symbols(tape, std::move(stacks), options, console));
}

}  // namespace heaptape::cli
