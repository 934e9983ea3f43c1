#include "replayer/sites/call_sites.h"

#include <utility>

namespace heaptape::replayer {

base::Result<CallSites> CallSites::read(schema::TapeReader& tape, const Sites& sites,
                                        std::vector<uint64_t> calls,
                                        const schema::Keyframe* keyframe) {
  HEAPTAPE_ASSIGN_OR_RETURN(CallStacks stacks, CallStacks::read(tape, std::move(calls), keyframe));
  return CallSites(sites, std::move(stacks));
}

uint32_t CallSites::of_call(uint64_t call) const {
  const CallStacks::Found* const found = stacks_.find(call);
  return found == nullptr || found->weight == 0 ? Sites::kNone : sites_->of_stack(found->stack);
}

uint64_t CallSites::asked_by(uint64_t call) const {
  const CallStacks::Found* const found = stacks_.find(call);
  return found == nullptr ? 0 : found->asked;
}

double CallSites::weight_of(uint64_t call) const {
  if (!is_sampled()) return 1;
  const CallStacks::Found* const found = stacks_.find(call);
  return found == nullptr ? 0 : found->weight;
}

}  // namespace heaptape::replayer
