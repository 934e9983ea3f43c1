#include "replayer/engine/explain.h"

#include <algorithm>
#include <utility>

#include "replayer/answers/meshing.h"

namespace heaptape::replayer {

base::Result<ExplainedMoment> find_explained(schema::TapeReader& tape,
                                             const ExplainOptions& options,
                                             const std::function<void(double)>& progress) {
  using Kind = MomentRequest::Kind;
  ExplainedMoment explained;
  HEAPTAPE_ASSIGN_OR_RETURN(explained.moment, find_moment(tape, options.at, progress));
  const bool is_named = options.at.kind == Kind::kEvent || options.at.kind == Kind::kTime;
  const bool is_recorded = options.spec.kind == allocators::BackendKind::kRecorded;
  if (!is_named || !is_recorded || options.with_foresight || explained.moment.event == 0) {
    return explained;
  }
  HEAPTAPE_ASSIGN_OR_RETURN(auto keyframe, tape.read_keyframe(explained.moment.event - 1));
  if (keyframe) {
    explained.keyframe = std::make_shared<const schema::Keyframe>(std::move(*keyframe));
  }
  return explained;
}

base::Result<Explanation> explain(schema::TapeReader& tape, const ExplainOptions& options,
                                  ExplainedMoment explained,
                                  const std::function<void(double)>& progress) {
  Moment& moment = explained.moment;
  std::vector<allocators::BackendSpec> specs{options.spec};
  if (options.with_foresight) {
    HEAPTAPE_ASSIGN_OR_RETURN(specs.emplace_back(), allocators::parse_spec("model:foresight"));
  }
  const ReplayOptions replayed{.specs = specs,
                               .touch = options.touch,
                               .threads = options.threads,
                               .clock = options.clock,
                               .samples = 1,
                               .from = explained.keyframe ? explained.keyframe->event + 1 : 1,
                               .until = moment.event,
                               .beginning = explained.keyframe,
                               .actions = {{"trim", moment.event}},
                               .moments = {moment},
                               .heap_growths = options.heap_growths,
                               .looks_first = true,
                               .keep_picture = true,
                               .times = false};
  HEAPTAPE_ASSIGN_OR_RETURN(auto runs, replay(tape, replayed, progress));
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
