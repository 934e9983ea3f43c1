#include "allocators/models/foresight/foresight_model.h"

#include <algorithm>
#include <array>

#include "allocators/models/model_backend.h"
#include "base/number_text.h"

namespace heaptape::allocators {
namespace {

using foresight::Candidate;
using foresight::kGranuleBytes;
using foresight::kNever;
using foresight::NewBlock;
using foresight::PageOrder;

constexpr int kLooks = 16;  // at pages that have room

constexpr auto accept_any = [](uint64_t) { return true; };

constexpr uint64_t kLimit = kWrapperBase - kModelBase;  // no room for more

PageOrder order_of(Placing placing) {
  if (placing == Placing::kFirst) return PageOrder::kAddress;
  return placing == Placing::kFit ? PageOrder::kRoom : PageOrder::kDeath;
}

// In the order of Placing; the last means the best of them.
constexpr std::array<const char*, kPlacings + 1> kNames = {"first", "fit", "deaths", "boxes",
                                                           "best"};

std::unique_ptr<Backend> make_heap(size_t placing) {
  return std::make_unique<ModelBackend<ForesightModel>>(static_cast<Placing>(placing));
}

}  // namespace

ForesightModel::ForesightModel(AddressSpace& space, Placing placing)
    : placing_(placing), heap_(space, order_of(placing)) {}

bool ForesightModel::is_near(uint32_t page_death) const {
  if (placing_ != Placing::kBoxes || page_death == death_) return true;
  if (page_death == kNever || death_ == kNever) return false;
  constexpr uint64_t kReach = 4;
  const uint64_t page = uint64_t{page_death} - now_ + 1;
  const uint64_t block = uint64_t{death_} - now_ + 1;
  return page <= kReach * block && block <= kReach * page;
}

template <typename Next, typename Accepts>
uint64_t ForesightModel::tightest(std::optional<Candidate> page, uint64_t bytes, Next next,
                                  Accepts accepts) const {
  Candidate best{.bytes = UINT64_MAX};
  for (int i = 0; i < kLooks && page && is_near(page->death); ++i) {
    if (page->bytes < best.bytes && accepts(page->page)) {
      best = *page;
      if (order_of(placing_) != PageOrder::kDeath || best.bytes == bytes) break;
    }
    page = next(page->key);
  }
  return best.page;
}

template <typename Accepts>
uint64_t ForesightModel::choose_later(Room room, uint64_t bytes, Accepts accepts) {
  const auto from = [&](uint64_t key) { return heap_.first_from(room, bytes, key); };
  const auto next = [&](uint64_t key) { return from(key + 1); };
  return tightest(from(heap_.key_at(death_)), bytes, next, accepts);
}

template <typename Accepts>
uint64_t ForesightModel::choose_earlier(Room room, uint64_t bytes, Accepts accepts) {
  const auto before = [&](uint64_t key) { return heap_.last_before(room, bytes, key); };
  return tightest(before(heap_.key_at(death_)), bytes, before, accepts);
}

uint64_t ForesightModel::choose_run(const NewBlock& block) {
  // Enough bytes wherever the run begins.
  const uint64_t bytes = block.bytes + block.alignment - kGranuleBytes;
  if (bytes >= 2 * kPageBytes) return 0;
  uint64_t page = choose_later(Room::kRun, bytes, accept_any);
  if (page == 0) page = choose_earlier(Room::kRun, bytes, accept_any);
  return page == 0 ? 0 : heap_.place_in_run(page, block);
}

// A page that outlives the block may have any room. Any other page must hold half of the block.
uint64_t ForesightModel::choose_tail(const NewBlock& block) {
  uint64_t page = choose_later(Room::kTail, kGranuleBytes, accept_any);
  if (page == 0) {
    page = choose_earlier(Room::kTail, round_up(block.bytes / 2, kGranuleBytes), accept_any);
  }
  return page == 0 ? 0 : heap_.place_in_stretch(page, block);
}

// First fit and best fit take any hole, as in textbooks. If deaths are known, new pages are better,
// unless the block needs fewer of them in a hole.
uint64_t ForesightModel::choose_stretch(const NewBlock& block) {
  const auto saves = [&](uint64_t page) {
    const uint64_t place = heap_.place_in_stretch(page, block);
    return order_of(placing_) != PageOrder::kDeath ||
           heap_.new_pages(place, block.bytes) < page_up(block.bytes) / kPageBytes;
  };
  uint64_t page = choose_later(Room::kStretch, block.bytes, saves);
  if (page == 0) page = choose_earlier(Room::kStretch, block.bytes, saves);
  return page == 0 ? 0 : heap_.place_in_stretch(page, block);
}

uint64_t ForesightModel::choose_place(const NewBlock& block) {
  uint64_t place = block.alignment < kPageBytes ? choose_run(block) : 0;
  if (place == 0 && block.alignment == kGranuleBytes) {
    place = block.bytes < kPageBytes ? choose_tail(block) : choose_stretch(block);
  }
  return place != 0 ? place : heap_.place_on_new_pages(block);
}

Placement ForesightModel::allocate(uint64_t bytes, uint64_t alignment) {
  if (bytes >= kLimit || alignment >= kLimit) return {};
  const NewBlock block{.bytes = round_up(std::max<uint64_t>(bytes, 1), kGranuleBytes),
                       .alignment = std::max(alignment, kGranuleBytes),
                       .death = death_};
  const uint64_t address = choose_place(block);
  if (address == 0) return {};
  heap_.take(address, block);
  sizes_.insert(address, block.bytes);
  return {address, block.bytes};
}

Placement ForesightModel::reallocate(uint64_t address, uint64_t bytes) {
  if (bytes >= kLimit) return {};
  const NewBlock old{.bytes = sizes_.get(address), .death = death_};
  release(address);
  const Placement placed = allocate(bytes, 0);
  if (placed.address != 0) return placed;
  heap_.take(address, old);
  sizes_.insert(address, old.bytes);
  return {};
}

void ForesightModel::release(uint64_t address) {
  heap_.give_back(address, sizes_.get(address));
  sizes_.erase(address);
}

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
