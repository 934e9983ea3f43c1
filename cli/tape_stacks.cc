#include "cli/tape_stacks.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/display_text.h"
#include "replayer/sites/call_stacks.h"
#include "replayer/symbols/symbol_file.h"
#include "replayer/symbols/symbolizer.h"

namespace heaptape::cli {
namespace {

using base::Result;
using replayer::Symbols;

bool has_frames(const schema::Stacks& stacks) {
  return stacks.limit() > 1;
}

Result<schema::Stacks> read_wanted(schema::TapeReader& tape, const StacksWanted& wanted) {
  return wanted.keyframe == nullptr ? tape.read_stacks()
                                    : tape.read_stacks(*wanted.keyframe, wanted.until);
}

Result<schema::Stacks> read_stacks(schema::TapeReader& tape, const StacksWanted& wanted) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_wanted(tape, wanted));
  if (has_frames(stacks)) return stacks;
  const schema::StackRecording& recording = tape.header().stacks;
  const std::string none = base::quoted(tape.path()) + " has no call stacks: ";
  if (recording.every_bytes != 0) {
    return base::Error::usage(none +
                              "none of its calls was sampled; record with a smaller every=BYTES");
  }
  if (!recording.sizes.empty()) {
    return base::Error::usage(none + "none of its calls asked for " +
                              schema::sizes_text(recording.sizes) + "; record with other sizes");
  }
  return base::Error::usage(base::quoted(tape.path()) +
                            " has no call stacks: record the program with `heaptape record "
                            "--stacks dwarf`");
}

// Nothing if the tape has no symbol file beside it. A file written while the tape grew lacks
// frames.
std::optional<Symbols> read_symbols_beside(const schema::TapeReader& tape, Console& console) {
  const std::string path = symbol_path(tape.path());
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  auto read = replayer::read_symbols(path);
  const replayer::TapeIdentity identity{tape.header().start_unix_ns, tape.header().pid,
                                        tape.joined_frames()};
  if (!read.ok()) {
    console.print_note(read.error().message + "; it is ignored");
  } else if (!(read->tape == identity)) {
    console.print_note(base::quoted(path) + " belongs to another tape: it is ignored");
  } else {
    return std::move(read->symbols);
  }
  return std::nullopt;
}

// 0 if unknown.
uint64_t recorded_until_unix_ns(const schema::TapeReader& tape) {
  const uint64_t start_ns = tape.header().start_unix_ns;
  if (!tape.summary() || start_ns == 0) return 0;
  return start_ns + std::min(tape.summary()->duration_ns, UINT64_MAX - start_ns);
}

TapeStacks symbolize_stacks(const schema::TapeReader& tape, schema::Stacks stacks,
                            replayer::SymbolOptions options, const Symbols* known,
                            Console& console) {
  options.recorded_until_unix_ns = recorded_until_unix_ns(tape);
  replayer::SymbolizedTape symbolized = replayer::symbolize(stacks, options, known);
  for (const std::string& note : symbolized.notes) console.print_note(note);
  return {std::move(stacks), std::move(symbolized.symbols)};
}

TapeStacks with_symbols(const schema::TapeReader& tape, schema::Stacks stacks,
                        const replayer::SymbolOptions& options, Console& console) {
  const bool says_where = options.debuginfod || !options.debug_dirs.empty();
  auto symbols = read_symbols_beside(tape, console);
  if (symbols && symbols->limit() >= stacks.limit() && !says_where) {
    return {std::move(stacks), std::move(*symbols)};
  }
  return symbolize_stacks(tape, std::move(stacks), options, symbols ? &*symbols : nullptr, console);
}

}  // namespace

std::string symbol_path(const std::string& tape_path) {
  constexpr std::string_view kUnfinished = ".partial";
  std::string path = tape_path;
  if (path.ends_with(kUnfinished)) path.resize(path.size() - kUnfinished.size());
  return path + ".symbols";
}

Result<TapeStacks> symbolize_tape(schema::TapeReader& tape, const replayer::SymbolOptions& options,
                                  Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_stacks(tape, {}));
  return symbolize_stacks(tape, std::move(stacks), options, nullptr, console);
}

Result<TapeStacks> read_tape_stacks(schema::TapeReader& tape,
                                    const replayer::SymbolOptions& options, Console& console,
                                    const StacksWanted& wanted) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_stacks(tape, wanted));
  return with_symbols(tape, std::move(stacks), options, console);
}

Result<std::optional<TapeStacks>> read_stacks_if_any(schema::TapeReader& tape,
                                                     const replayer::SiteFilters& filters,
                                                     const replayer::SymbolOptions& options,
                                                     Console& console, const StacksWanted& wanted) {
  if (!filters.hide.empty() || !filters.only.empty()) {
    HEAPTAPE_ASSIGN_OR_RETURN(TapeStacks stacks, read_tape_stacks(tape, options, console, wanted));
    return std::optional(std::move(stacks));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const bool any, replayer::has_stacks(tape));
  if (!any) return std::optional<TapeStacks>();
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, read_wanted(tape, wanted));
  if (!has_frames(stacks)) return std::optional<TapeStacks>();
  return std::optional(with_symbols(tape, std::move(stacks), options, console));
}

base::Error no_site_shown(const schema::TapeReader& tape) {
  return base::Error::usage("no call site of " + base::quoted(tape.path()) +
                            " matches --only; `heaptape stats " +
                            base::command_text({tape.path()}) + " --by site` lists them");
}

}  // namespace heaptape::cli
