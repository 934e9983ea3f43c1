#include "replayer/diff/gate_judging.h"

#include <algorithm>
#include <utility>

#include "base/near_names.h"

namespace heaptape::replayer {
namespace {

using schema::RunFigures;

// Suggests marks and counters, whose names only the runs know.
std::string near_names(const std::string& metric, const std::vector<RunPair>& pairs) {
  std::vector<std::string> names;
  for (const auto& [base, now] : pairs) {
    for (const schema::Metric& known : now->metrics) names.push_back(known.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return base::did_you_mean(metric, names);
}

// Whether the change is meaningless: the recorded run's residency is that of its whole process.
bool is_of_other_memory(const Gate& gate, const RunFigures& base, const RunFigures& now) {
  const bool has_both = base.failure.empty() && now.failure.empty() && base.metric(gate.metric) &&
                        now.metric(gate.metric);
  return has_both && gate.kind != GateKind::kAbsolute && gate.metric.ends_with(".residentBytes") &&
         (base.backend == schema::kRecordedBackend) != (now.backend == schema::kRecordedBackend);
}

}  // namespace

std::vector<GateOutcome> judge(const Gate& gate, const std::vector<RunPair>& pairs) {
  std::vector<GateOutcome> outcomes;
  for (const auto& [base, now] : pairs) {
    Gate of_pair = gate;
    of_pair.is_optional |= base->label != now->label;  // not all allocators have all figures
    outcomes.push_back(evaluate(of_pair, *base, *now));
    if (is_of_other_memory(gate, *base, *now)) {
      outcomes.back().state = GateState::kSkipped;
      outcomes.back().detail =
          "the recorded run's resident bytes are those of its whole process, not of its heap alone";
    }
  }
  const bool unanswered = std::ranges::all_of(
      outcomes, [](const GateOutcome& o) { return o.state == GateState::kSkipped; });
  if (!unanswered || gate.is_optional) return outcomes;
  for (GateOutcome& outcome : outcomes) {
    outcome.state = GateState::kFailed;
    if (outcome.base || outcome.now) continue;  // says which of the two lacks it
    outcome.detail = "no compared run has " + gate.metric + near_names(gate.metric, pairs);
  }
  return outcomes;
}

std::vector<GateOutcome> judge_lost_runs(const Gate& gate, const std::vector<RunFigures>& base,
                                         const std::vector<RunFigures>& now) {
  std::vector<GateOutcome> outcomes;
  for (const RunFigures& run : base) {
    const bool is_lost = std::ranges::find(now, run.label, &RunFigures::label) == now.end() &&
                         run.metric(gate.metric);
    if (!is_lost) continue;
    GateOutcome outcome;
    outcome.expression = gate.expression;
    outcome.metric = gate.metric;
    outcome.run = run.label;
    outcome.unit = gate.unit;
    outcome.state = GateState::kFailed;
    outcome.base = run.metric(gate.metric);
    outcome.detail = "the new report has no such run";
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace heaptape::replayer
