// The call sites of selected calls of a tape. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "replayer/sites/call_stacks.h"
#include "replayer/sites/sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// The text for a call whose stack was not sampled.
inline constexpr const char* kNotSampled = "(not sampled)";

class CallSites {
 public:
  // Like CallStacks::read. `sites` must outlive this.
  static base::Result<CallSites> read(schema::TapeReader& tape, const Sites& sites,
                                      std::vector<uint64_t> calls,
                                      const schema::Keyframe* keyframe = nullptr);

  const Sites& sites() const { return *sites_; }
  // Sites::kNone for a call that was not asked for.
  uint32_t of_call(uint64_t call) const;
  // How many calls it stands for; 0 if its stack was not sampled.
  double weight_of(uint64_t call) const;
  // The size that the call requested; 0 if that was not looked up, as where all have stacks.
  uint64_t asked_by(uint64_t call) const;
  bool is_sampled() const { return stacks_.is_sampled(); }
  const schema::StackRecording& recording() const { return stacks_.recording(); }
  // Sites::text(), or kNotSampled.
  std::string text(uint64_t call) const {
    return weight_of(call) == 0 ? kNotSampled : sites_->text(of_call(call));
  }
  // Sites::short_text(), or kNotSampled.
  std::string short_text(uint64_t call) const {
    return weight_of(call) == 0 ? kNotSampled : sites_->short_text(of_call(call));
  }

 private:
  CallSites(const Sites& sites, CallStacks stacks) : sites_(&sites), stacks_(std::move(stacks)) {}

  const Sites* sites_;
  CallStacks stacks_;
};

}  // namespace heaptape::replayer
