#include "replayer/report/pinned_stacks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "replayer/sites/call_stacks.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {
namespace {

struct RunPins {
  const std::string& label;
  const PinsAtMoment& pins;
};

std::vector<RunPins> pins_of(const std::vector<RunResult>& runs) {
  std::vector<RunPins> list;
  for (const RunResult& run : runs) {
    if (run.metrics.known_resident == KnownResident::kSum) continue;
    for (const PinsAtMoment& pins : run.pins) {
      if (list.size() < schema::StackTree::kMostPinned) list.push_back({run.spec.label, pins});
    }
  }
  return list;
}

// Below 2^53 the sums are integers unless stacks were sampled.
PinnedStacks by_stack(const RunPins& run, const CallStacks& calls) {
  std::map<schema::FrameNumber, double> sums;
  for (const PinningBlock& block : run.pins.blocks) {
    const CallStacks::Found* const found = calls.find(block.birth);
    if (found == nullptr || (calls.is_sampled() && found->weight == 0)) continue;
    const double weight = calls.is_sampled() ? found->weight : 1;
    sums[found->stack] += weight * static_cast<double>(block.bytes);
  }
  PinnedStacks stacks{run.label, run.pins.moments, {}};
  for (const auto& [stack, bytes] : sums) {
    stacks.bytes[stack] = static_cast<uint64_t>(std::llround(std::min(bytes, 1e18)));
  }
  return stacks;
}

}  // namespace

base::Result<std::vector<PinnedStacks>> pinned_stacks(schema::TapeReader& tape,
                                                      const std::vector<RunResult>& runs) {
  const std::vector<RunPins> list = pins_of(runs);
  std::vector<uint64_t> births;
  for (const RunPins& run : list) {
    for (const PinningBlock& block : run.pins.blocks) births.push_back(block.birth);
  }
  std::vector<PinnedStacks> pinned;
  if (list.empty()) return pinned;
  HEAPTAPE_ASSIGN_OR_RETURN(const CallStacks calls, CallStacks::read(tape, std::move(births)));
  for (const RunPins& run : list) pinned.push_back(by_stack(run, calls));
  return pinned;
}

}  // namespace heaptape::replayer
