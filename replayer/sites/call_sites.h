// Who made some of the calls of a tape. docs/metrics.md, "Sites".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "replayer/sites/sample_weight.h"
#include "replayer/sites/sites.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// What a call whose stack was left out of the sample is said to be from.
inline constexpr const char* kNotSampled = "(not sampled)";

class CallSites {
 public:
  // Reads the tape where the calls are, and no further; `calls` are their numbers, from 1, in any
  // order, and may have some twice. `sites` outlives this.
  static base::Result<CallSites> read(schema::TapeReader& tape, const Sites& sites,
                                      std::vector<uint64_t> calls);

  const Sites& sites() const { return *sites_; }
  // Sites::kNone of a call that was not asked for.
  uint32_t of_call(uint64_t call) const;
  // How many calls it stands for; 0: none, its stack was left out of the sample.
  double weight_of(uint64_t call) const;
  bool is_sampled() const { return is_sampled_; }
  // As Sites::text has it, or kNotSampled.
  std::string text(uint64_t call) const {
    return weight_of(call) == 0 ? kNotSampled : sites_->text(of_call(call));
  }
  // The same as Sites::short_text has it.
  std::string short_text(uint64_t call) const {
    return weight_of(call) == 0 ? kNotSampled : sites_->short_text(of_call(call));
  }

 private:
  struct Found {
    uint32_t site = Sites::kNone;
    double weight = 0;
  };

  CallSites(const Sites& sites, bool is_sampled) : sites_(&sites), is_sampled_(is_sampled) {}
  const Found* find(uint64_t call) const;

  const Sites* sites_;
  bool is_sampled_;
  std::vector<uint64_t> calls_;  // ascending
  std::vector<Found> found_;     // of each
};

}  // namespace heaptape::replayer
