#include "cli/commands.h"

#include <ostream>

#include "base/display_text.h"
#include "cli/tape_reading.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Result;

// Returns the exit code. `describe` makes the text of the explanation.
template <typename Describe>
Result<int> explain_tape(const ExplainCommandOptions& options, Console& console,
                         Describe describe) {
  replayer::ExplainOptions explained = options.explain;
  HEAPTAPE_ASSIGN_OR_RETURN(explained.spec, allocators::parse_spec(options.spec));
  if (!options.at.empty()) {
    HEAPTAPE_ASSIGN_OR_RETURN(explained.at, replayer::parse_moment(options.at));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape,
                            open_tape(options.tape_path, schema::OnDamage::kStop, console));
  Progress progress(console, "replaying " + base::display_text(options.tape_path));
  HEAPTAPE_ASSIGN_OR_RETURN(
      const replayer::Explanation explanation,
      replayer::explain(tape, explained, [&progress](double share) { progress.show(share); }));
  if (const auto& failure = explanation.run.failure) {
    console.print_error("'" + explanation.run.spec.label + "' failed at #" +
                        std::to_string(failure->event) + ": " + failure->text);
    return kExitFailed;
  }
  console.out() << describe(tape, explanation);
  return kExitDone;
}

int finish(const Result<int>& exit_code, Console& console) {
  return exit_code.ok() ? console.finish(*exit_code) : console.fail(exit_code.error());
}

}  // namespace

int run_explain(const ExplainCommandOptions& options, Console& console) {
  return finish(explain_tape(options, console, replayer::explanation_text), console);
}

int run_holes(const ExplainCommandOptions& options, Console& console) {
  const auto describe = [&options](const schema::TapeReader& tape,
                                   const replayer::Explanation& explanation) {
    return replayer::holes_text(tape, explanation, options.holes);
  };
  return finish(explain_tape(options, console, describe), console);
}

}  // namespace heaptape::cli
