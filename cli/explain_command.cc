#include "cli/commands.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include "base/display_text.h"
#include "base/output_file.h"
#include "cli/allocator_words.h"
#include "cli/bigger_tape.h"
#include "cli/explained_heap.h"
#include "cli/output_check.h"
#include "cli/tape_reading.h"
#include "cli/tape_stacks.h"
#include "cli/tape_verdict.h"
#include "replayer/report/explain_output.h"
#include "replayer/report/html/explain_page.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using base::Result;

using Describe = std::string (*)(const schema::TapeReader&, const replayer::Explanation&,
                                 const replayer::HolesOptions&, const replayer::CallSites*);

// The call sites of the blocks.
struct StacksAndSites {
  StacksAndSites(TapeStacks of_tape, const replayer::SiteRules& rules)
      : stacks(std::move(of_tape)), sites(stacks.stacks, stacks.symbols, rules) {}

  TapeStacks stacks;
  replayer::Sites sites;
};
// Null if the tape has no stacks.
Result<std::unique_ptr<StacksAndSites>> read_sites(schema::TapeReader& tape,
                                                   const ExplainCommandOptions& options,
                                                   const replayer::SiteRules& rules,
                                                   const replayer::ExplainedMoment& explained,
                                                   Console& console) {
  const StacksWanted wanted{explained.keyframe.get(), explained.moment.event};
  HEAPTAPE_ASSIGN_OR_RETURN(
      auto stacks, read_stacks_if_any(tape, options.filters, options.symbols, console, wanted));
  return stacks ? std::make_unique<StacksAndSites>(std::move(*stacks), rules) : nullptr;
}

// A heap without blocks has no sites, whatever the filters.
bool shows_none(const replayer::HeapPicture& picture, const replayer::CallSites& calls) {
  const auto& sites = calls.sites().list();
  return !picture.blocks.empty() &&
         std::ranges::none_of(picture.blocks, [&](const replayer::LiveBlock& block) {
           return sites[calls.of_call(block.birth)].is_shown;
         });
}

// A typing mistake must not overwrite the input.
base::Status check_page(const ExplainCommandOptions& options, const allocators::BackendSpec& spec) {
  const std::string& path = options.html_path;
  if (path.empty()) return {};
  if (base::same_file(path, options.tape_path)) {
    return base::Error::usage(base::quoted(path) + " is the tape: write to another file");
  }
  if (base::same_file(path, spec.file())) {
    return base::Error::usage(base::quoted(path) + " is the file of '" + spec.text +
                              "': write to another file");
  }
  return check_writable(path);
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
  explained.heap_growths = static_cast<uint32_t>(options.holes.top);
  HEAPTAPE_ASSIGN_OR_RETURN(const auto rules, replayer::SiteRules::make(options.filters));
  HEAPTAPE_ASSIGN_OR_RETURN(auto tape,
                            open_tape(options.tape_path, schema::OnDamage::kStop, console));
  if (!options.is_chosen) note_bigger_tape(tape, console);
  HEAPTAPE_RETURN_IF_ERROR(check_page(options, explained.spec));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto moment, find_explained(tape, explained, console));
  HEAPTAPE_ASSIGN_OR_RETURN(const auto known, read_sites(tape, options, rules, moment, console));
  const replayer::Sites* const sites = known == nullptr ? nullptr : &known->sites;
  HEAPTAPE_ASSIGN_OR_RETURN(const auto heap, explain_heap(tape, explained, moment, sites, console));
  if (!heap) return kExitFailed;
  const auto& [explanation, calls] = *heap;
  if (calls && shows_none(*explanation.run.picture, *calls)) return no_site_shown(tape);
  const replayer::CallSites* const named = calls ? &*calls : nullptr;
  if (!options.html_path.empty()) {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string page,
                              replayer::explain_page(tape, explanation, options.holes, named));
    HEAPTAPE_RETURN_IF_ERROR(base::write_file(options.html_path, page));
  }
  if (options.format == Format::kText) {
    console.print_text(describe(tape, explanation, options.holes, named));
    return kExitDone;
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string json,
                            replayer::explanation_json(tape, explanation, options.holes, named));
  console.out() << json;
  return kExitDone;
}

int run(const ExplainCommandOptions& given, Console& console, Describe describe) {
  tell_file_size_limit();
  const auto path = choose_tape(given.tape_path, given.process, console);
  if (!path.ok()) return console.fail(path.error());
  ExplainCommandOptions options = given;
  options.is_chosen = *path != given.tape_path;
  options.tape_path = *path;
  constexpr size_t kUsualTop = 5;
  if (!options.spec.empty() && options.holes.top == 0) options.holes.top = kUsualTop;
  const Result<int> exit_code = options.spec.empty() ? explain_verdict(options, console)
                                                     : explain_tape(options, console, describe);
  return exit_code.ok() ? console.finish(*exit_code) : console.fail(exit_code.error());
}

}  // namespace

int run_explain(const ExplainCommandOptions& options, Console& console) {
  return run(options, console, replayer::explanation_text);
}

int run_holes(const ExplainCommandOptions& options, Console& console) {
  return run(options, console, replayer::holes_text);
}

}  // namespace heaptape::cli
