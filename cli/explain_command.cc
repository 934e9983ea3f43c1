#include "cli/commands.h"

#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/allocator_words.h"
#include "cli/bigger_tape.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "replayer/report/explain_json.h"
#include "replayer/report/heap_sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Result;

using Describe = std::string (*)(const schema::TapeReader&, const replayer::Explanation&,
                                 const replayer::HolesOptions&, const replayer::CallSites*);

// Who asked for the blocks.
struct StacksAndSites {
  explicit StacksAndSites(TapeStacks of_tape)
      : stacks(std::move(of_tape)), sites(stacks.stacks, stacks.symbols, {}) {}

  TapeStacks stacks;
  replayer::Sites sites;
};
// Null where the tape has no stacks.
Result<std::unique_ptr<StacksAndSites>> read_sites(schema::TapeReader& tape,
                                                   const ExplainCommandOptions& options,
                                                   Console& console) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto stacks, read_stacks_if_any(tape, options.symbols, console));
  return stacks ? std::make_unique<StacksAndSites>(std::move(*stacks)) : nullptr;
}

// Returns the exit code.
Result<int> explain_tape(const ExplainCommandOptions& options, Console& console,
                         Describe describe) {
  replayer::ExplainOptions explained = options.explain;
  HEAPTAPE_ASSIGN_OR_RETURN(const auto specs, parse_specs({options.spec}));
  explained.spec = specs.front();
  if (options.at) {
    HEAPTAPE_ASSIGN_OR_RETURN(explained.at, replayer::parse_moment(*options.at));
  }
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape,
                            open_tape(options.tape_path, schema::OnDamage::kStop, console));
  note_bigger_tape(tape, console);
  explained.heap_growths = static_cast<uint32_t>(options.holes.top);
  HEAPTAPE_ASSIGN_OR_RETURN(const auto known, read_sites(tape, options, console));
  Progress progress(console, "replaying " + base::display_text(options.tape_path));
  HEAPTAPE_ASSIGN_OR_RETURN(
      const replayer::Explanation explanation,
      replayer::explain(tape, explained, [&progress](double share) { progress.show(share); }));
  const replayer::RunResult& run = explanation.run;
  if (run.failure) {
    console.print_error("'" + run.spec.label + "' failed at #" + base::grouped(run.failure->event) +
                        ": " + run.failure->text);
    return kExitFailed;
  }
  if (explained.threads == allocators::Threads::kFree && !explanation.state().account) {
    return base::Error::usage(
        "--threads free leaves out where blocks are: take ordered, lockstep or merged");
  }
  if (!explanation.state().account) {
    return base::Error::usage("'" + run.spec.label +
                              "' places no blocks: there is nothing to explain");
  }
  std::optional<replayer::CallSites> sites;
  if (known != nullptr) {
    auto calls = replayer::calls_to_name(*run.picture, run.metrics.heap_growths);
    HEAPTAPE_ASSIGN_OR_RETURN(sites,
                              replayer::CallSites::read(tape, known->sites, std::move(calls)));
  }
  const replayer::CallSites* const named = sites ? &*sites : nullptr;
  if (options.format == Format::kText) {
    console.print_text(describe(tape, explanation, options.holes, named));
    return kExitDone;
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string json,
                            replayer::explanation_json(tape, explanation, options.holes, named));
  console.out() << json;
  return kExitDone;
}

int finish(const Result<int>& exit_code, Console& console) {
  return exit_code.ok() ? console.finish(*exit_code) : console.fail(exit_code.error());
}

}  // namespace

int run_explain(const ExplainCommandOptions& options, Console& console) {
  tell_file_size_limit();
  return finish(explain_tape(options, console, replayer::explanation_text), console);
}

int run_holes(const ExplainCommandOptions& options, Console& console) {
  tell_file_size_limit();
  return finish(explain_tape(options, console, replayer::holes_text), console);
}

}  // namespace heaptape::cli
