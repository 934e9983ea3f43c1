#include "replayer/engine/explain.h"

#include <algorithm>
#include <utility>

#include "replayer/answers/meshing.h"

namespace heaptape::replayer {

base::Result<Explanation> explain(schema::TapeReader& tape, const ExplainOptions& options,
                                  const std::function<void(double)>& progress) {
  constexpr double kShareOfSearch = 0.3;
  const auto show = [&progress](double from, double to) {
    return [&progress, from, to](double share) {
      if (progress) progress(from + (to - from) * share);
    };
  };
  HEAPTAPE_ASSIGN_OR_RETURN(Moment moment, find_moment(tape, options.at, show(0, kShareOfSearch)));
  std::vector<allocators::BackendSpec> specs{options.spec};
  if (options.with_foresight) {
    HEAPTAPE_ASSIGN_OR_RETURN(specs.emplace_back(), allocators::parse_spec("model:foresight"));
  }
  const ReplayOptions replayed{.specs = specs,
                               .touch = options.touch,
                               .threads = options.threads,
                               .clock = options.clock,
                               .samples = 1,
                               .until = moment.event,
                               .actions = {{"trim", moment.event}},
                               .moments = {moment},
                               .heap_growths = options.heap_growths,
                               .looks_first = true,
                               .keep_picture = true,
                               .times = false};
  HEAPTAPE_ASSIGN_OR_RETURN(auto runs, replay(tape, replayed, show(kShareOfSearch, 1)));
  RunResult& first = runs.front();
  const KnownResident known = first.metrics.known_resident;
  if (known == KnownResident::kPages && first.picture && !first.picture->absent) {
    first.notes.emplace_back(
        "it is unknown which pages are resident: all committed memory counts as resident");
  }
  if (known == KnownResident::kHoles) first.notes.emplace_back("all holes count as resident");
  if (known != KnownResident::kPages) {
    first.notes.emplace_back("estimates need a replay: name an allocator, such as -a glibc");
  }
  Explanation explanation{std::move(moment), std::move(runs.front()), {}};
  if (options.with_foresight && !runs.back().failure) {
    explanation.foresight_bytes = runs.back().metrics.moments.front().snapshot.resident_bytes;
  }
  return explanation;
}

std::vector<Estimate> estimates_of(const Explanation& explanation) {
  if (explanation.run.metrics.known_resident != KnownResident::kPages) return {};
  const Account& account = *explanation.state().account;
  std::vector<Estimate> estimates;
  if (account.trimmable_bytes) estimates.push_back({Remedy::kTrim, *account.trimmable_bytes});
  estimates.push_back({Remedy::kPurge, account.purgeable_bytes});
  const auto beyond = [&account](uint64_t bytes) {
    return account.resident_bytes - std::min(account.resident_bytes, bytes);
  };
  if (explanation.run.picture) {
    estimates.push_back(
        {Remedy::kMeshing, estimate_meshing(*explanation.run.picture).meshable_bytes});
  }
  if (explanation.foresight_bytes) {
    estimates.push_back({Remedy::kForesight, beyond(*explanation.foresight_bytes)});
  }
  const uint64_t touched_bytes =
      account.live_bytes - std::min(account.live_bytes, account.untouched_bytes);
  estimates.push_back({Remedy::kCompaction, beyond(touched_bytes)});
  return estimates;
}

}  // namespace heaptape::replayer
