#include "cli/explained_heap.h"

#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/report/heap_sites.h"

namespace heaptape::cli {
namespace {

base::Status check_account(const replayer::ExplainOptions& options,
                           const replayer::Explanation& explanation) {
  if (explanation.state().account) return {};
  if (options.threads == allocators::Threads::kFree) {
    return base::Error::usage(
        "--threads free does not track where blocks are: use ordered, lockstep or merged");
  }
  return base::Error::usage(
      "'" + explanation.run.spec.label +
      "' places no blocks, so there are no holes or pins: choose another allocator");
}

}  // namespace

base::Result<replayer::ExplainedMoment> find_explained(schema::TapeReader& tape,
                                                       const replayer::ExplainOptions& options,
                                                       Console& console) {
  Progress progress(console, "reading " + base::display_text(tape.path()));
  return replayer::find_explained(tape, options,
                                  [&progress](double share) { progress.show(share); });
}

base::Result<std::optional<ExplainedHeap>> explain_heap(schema::TapeReader& tape,
                                                        const replayer::ExplainOptions& options,
                                                        const replayer::ExplainedMoment& explained,
                                                        const replayer::Sites* sites,
                                                        Console& console) {
  Progress progress(console, "replaying " + base::display_text(tape.path()));
  HEAPTAPE_ASSIGN_OR_RETURN(replayer::Explanation explanation,
                            replayer::explain(tape, options, explained,
                                              [&progress](double share) { progress.show(share); }));
  const replayer::RunResult& run = explanation.run;
  if (run.failure) {
    console.print_error("'" + run.spec.label + "' failed at #" + base::grouped(run.failure->event) +
                        ": " + run.failure->text);
    return std::optional<ExplainedHeap>();
  }
  HEAPTAPE_RETURN_IF_ERROR(check_account(options, explanation));
  ExplainedHeap heap{std::move(explanation), {}};
  if (sites != nullptr) {
    const replayer::RunResult& done = heap.explanation.run;
    auto calls = replayer::calls_to_name(*done.picture, done.metrics.heap_growths);
    HEAPTAPE_ASSIGN_OR_RETURN(heap.calls, replayer::CallSites::read(tape, *sites, std::move(calls),
                                                                    explained.keyframe.get()));
  }
  return std::optional(std::move(heap));
}

}  // namespace heaptape::cli
