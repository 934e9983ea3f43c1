#include <algorithm>
#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/bigger_tape.h"
#include "cli/commands.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/symbols/symbol_file.h"

namespace heaptape::cli {
namespace {

size_t known_places(const replayer::Symbols& symbols) {
  return static_cast<size_t>(std::ranges::count_if(
      symbols.places(), [](const replayer::CodePlace& place) { return !place.source.empty(); }));
}

base::Status symbolize(const SymbolizeOptions& options, Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape, open_tape(options.path, schema::OnDamage::kStop, console));
  const std::string output = options.output.empty() ? symbol_path(options.path) : options.output;
  if (base::same_file(output, options.path)) {
    return base::Error::usage(base::quoted(output) + " is the tape: write to another file");
  }
  HEAPTAPE_RETURN_IF_ERROR(check_writable(output));
  note_bigger_tape(tape, console);
  HEAPTAPE_ASSIGN_OR_RETURN(const TapeStacks stacks,
                            symbolize_tape(tape, options.symbols, console));
  const replayer::TapeIdentity identity{tape.header().start_unix_ns, tape.header().pid,
                                        tape.joined_frames()};
  const size_t known = known_places(stacks.symbols);
  const auto before = replayer::read_symbols(output);
  if (before.ok() && before->tape == identity && known_places(before->symbols) > known) {
    return base::Error::usage(base::quoted(output) + " already has functions for " +
                              base::counted(known_places(before->symbols), "place") +
                              ", and this run found " + base::grouped(known) +
                              ": it is kept; remove it, or write to another file with -o");
  }
  HEAPTAPE_RETURN_IF_ERROR(replayer::write_symbols(output, stacks.symbols, identity));
  console.out() << base::display_text(output) << ": found the functions of " << base::grouped(known)
                << " of " << base::counted(stacks.symbols.places().size(), "place")
                << " in the code\n";
  return {};
}

}  // namespace

int run_symbolize(const SymbolizeOptions& options, Console& console) {
  const base::Status status = symbolize(options, console);
  return status.ok() ? console.finish() : console.fail(status.error());
}

}  // namespace heaptape::cli
