// Replays a tape with the placement strategy that suits it best, or with a given one. A rehearsal
// finds the best: all strategies serve the tape side by side, and the lowest peak of committed
// memory wins.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "base/parameters.h"

namespace heaptape::allocators {

class ForesightBackend : public Backend {
 public:
  explicit ForesightBackend(const base::Values& options);
  static std::vector<base::Parameter> parameters();

  const BackendTraits& traits() const override { return traits_; }
  Result<std::vector<RegionEvent>> start() override { return std::vector<RegionEvent>(); }
  bool has_foresight() const override { return true; }
  Status rehearse(const ReplayBatch& batch) override;
  Status submit(const ReplayBatch& batch) override;
  Status collect(BatchResult& result) override { return chosen_->collect(result); }
  Result<Residency> residency(std::span<const AddressRange> regions) override {
    return chosen_->residency(regions);
  }
  std::vector<Counter> counters() override { return {}; }
  std::vector<std::string> notes() const override { return notes_; }

 private:
  struct Rehearsal {
    size_t placing;
    std::unique_ptr<Backend> heap;
    uint64_t committed_bytes = 0;
    uint64_t peak_bytes = 0;
  };

  void choose();

  BackendTraits traits_;
  std::vector<Rehearsal> rehearsals_;  // until the first batch; empty if the strategy is given
  size_t placing_;
  std::unique_ptr<Backend> chosen_;  // from the first batch on
  std::vector<std::string> notes_;
};

}  // namespace heaptape::allocators
