#include "python/tables/tape_sites.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/display_text.h"
#include "replayer/sites/call_stacks.h"
#include "replayer/symbols/symbol_file.h"
#include "replayer/symbols/symbolizer.h"

namespace heaptape::python {
namespace {

// Reads the file of `heaptape symbolize` beside the tape; nothing if there is none.
base::Result<std::optional<replayer::Symbols>> symbols_beside(const schema::TapeReader& tape) {
  const std::string path = tape.path() + ".symbols";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<replayer::Symbols>();
  HEAPTAPE_ASSIGN_OR_RETURN(replayer::SymbolFile file, replayer::read_symbols(path));
  if (file.tape == replayer::TapeIdentity{tape.header().start_unix_ns, tape.header().pid}) {
    return std::optional(std::move(file.symbols));
  }
  return base::Error::usage(base::quoted(path) + " is of another tape: remove it, or run " +
                            "`heaptape symbolize` again");
}

}  // namespace

base::Result<std::shared_ptr<const TapeSites>> TapeSites::read(const std::string& path,
                                                               schema::OnDamage on_damage) {
  using Pointer = std::shared_ptr<const TapeSites>;
  HEAPTAPE_ASSIGN_OR_RETURN(schema::TapeReader tape, schema::TapeReader::open(path, on_damage));
  HEAPTAPE_ASSIGN_OR_RETURN(const bool has_stacks, replayer::has_stacks(tape));
  if (!has_stacks) return Pointer();
  HEAPTAPE_ASSIGN_OR_RETURN(schema::Stacks stacks, tape.read_stacks());
  if (stacks.limit() <= 1) return Pointer();
  HEAPTAPE_ASSIGN_OR_RETURN(const auto known, symbols_beside(tape));
  replayer::SymbolOptions options;
  options.reads_files = false;
  replayer::SymbolizedTape symbolized =
      replayer::symbolize(stacks, options, known ? &*known : nullptr);
  return Pointer(std::make_shared<TapeSites>(std::move(stacks), std::move(symbolized.symbols)));
}

TapeSites::TapeSites(schema::Stacks stacks, replayer::Symbols symbols)
    : stacks_(std::move(stacks)), symbols_(std::move(symbols)), sites_(stacks_, symbols_, {}) {}

}  // namespace heaptape::python
