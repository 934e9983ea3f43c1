#include "allocators/models/foresight/foresight_backend.h"

#include <algorithm>
#include <array>

#include "allocators/models/foresight/foresight_model.h"
#include "allocators/models/model_backend.h"
#include "base/number_text.h"

namespace heaptape::allocators {
namespace {

// In the order of Placing; the last means the best of them.
constexpr std::array<const char*, kPlacings + 1> kNames = {"first", "fit", "deaths", "boxes",
                                                           "best"};

std::unique_ptr<Backend> make_heap(size_t placing) {
  return std::make_unique<ModelBackend<ForesightModel>>(static_cast<Placing>(placing));
}

}  // namespace

std::vector<base::Parameter> ForesightBackend::parameters() {
  return {{"placing", kPlacings, "where a block goes; best: the one with the lowest peak",
           std::vector<std::string>(kNames.begin(), kNames.end())}};
}

ForesightBackend::ForesightBackend(const base::Values& options)
    : traits_(ForesightModel::traits()), placing_(options["placing"]) {
  if (placing_ != kPlacings) return;
  for (size_t i = 0; i < kPlacings; ++i) rehearsals_.push_back({i, make_heap(i)});
}

Status ForesightBackend::rehearse(const ReplayBatch& batch) {
  BatchResult result;
  for (Rehearsal& rehearsal : rehearsals_) {
    HEAPTAPE_RETURN_IF_ERROR(rehearsal.heap->submit(batch));
    HEAPTAPE_RETURN_IF_ERROR(rehearsal.heap->collect(result));
    for (const RegionEvent& event : result.regions) {
      const bool is_more = event.kind == RegionEvent::Kind::kCommit;
      rehearsal.committed_bytes += is_more ? event.range.bytes() : -event.range.bytes();
      rehearsal.peak_bytes = std::max(rehearsal.peak_bytes, rehearsal.committed_bytes);
    }
  }
  return {};
}

void ForesightBackend::choose() {
  placing_ = std::ranges::min_element(rehearsals_, {}, &Rehearsal::peak_bytes)->placing;
  std::string peaks;
  for (const Rehearsal& rehearsal : rehearsals_) {
    if (!peaks.empty()) peaks += ", ";
    peaks += kNames[rehearsal.placing] + (" " + base::grouped(rehearsal.peak_bytes));
  }
  notes_.push_back(std::string("placing=") + kNames[placing_] +
                   " has the lowest peak; bytes committed at the peak of each: " + peaks);
  rehearsals_.clear();
}

Status ForesightBackend::submit(const ReplayBatch& batch) {
  if (!rehearsals_.empty()) choose();
  if (chosen_ == nullptr) chosen_ = make_heap(placing_);
  return chosen_->submit(batch);
}

}  // namespace heaptape::allocators
