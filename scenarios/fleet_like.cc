#include "scenarios/scenario_list.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <vector>

#include "scenarios/heap_writer.h"

namespace heaptape::scenarios {
namespace {

// How many of a million allocations, and of a million live blocks, have a size in the band: at most
// `largest` bytes and more than the band before. The mean over the ten programs whose profiles
// Fleetbench publishes (fleetbench/tcmalloc/distributions/TCMALLOC_{0..9}.csv, commit 703e5e55,
// 2026-07-07), with equal weights, summed by powers of two. Sizes above 1 MiB (six allocations in a
// million) are omitted.
struct SizeBand {
  uint64_t largest;
  uint64_t allocations;
  uint64_t live;
};
constexpr SizeBand kBands[] = {
    {8, 41'618, 18'865},     {16, 71'477, 56'612},   {32, 230'912, 262'597}, {64, 304'899, 275'639},
    {128, 154'968, 199'240}, {256, 78'347, 75'185},  {512, 46'075, 42'863},  {1024, 25'181, 17'397},
    {2048, 12'410, 10'917},  {4096, 19'045, 24'841}, {8192, 10'339, 10'383}, {16'384, 1'988, 3'261},
    {32'768, 948, 1'475},    {65'536, 1'016, 271},   {131'072, 613, 38},     {262'144, 138, 19},
    {524'288, 12, 5},        {1'048'576, 12, 4},
};

constexpr uint64_t kBriefEvents = 64;  // the longest of the brief lives
constexpr uint64_t kSizeStep = 8;

// The end of a block's life.
struct PlannedFree {
  uint64_t event;
  uint64_t serial;  // of the allocation: older blocks go first
  uint32_t thread;  // the one that allocated
  Block block;

  bool operator>(const PlannedFree& other) const {
    return event != other.event ? event > other.event : serial > other.serial;
  }
};

class Fleet {
 public:
  Fleet(const Values& values, schema::TapeWriter& tape)
      : heap_(tape),
        random_(values["seed"]),
        live_(values["live"]),
        threads_(static_cast<uint32_t>(values["threads"])),
        remote_percent_(values["remote"]),
        brief_percent_(std::min<uint64_t>(values["brief"], 99)),
        forever_permyriad_(values["forever"]) {
    for (const SizeBand& band : kBands) total_ += band.allocations;
  }

  void run(uint64_t events) {
    for (uint64_t event = 0; event < events; ++event) {
      if (!planned_.empty() && planned_.top().event <= event) {
        free(planned_.top());
        planned_.pop();
      } else {
        allocate(event);
      }
    }
  }

 private:
  void allocate(uint64_t event) {
    const auto thread = static_cast<uint32_t>(random_.below(threads_));
    const SizeBand& band = draw_band();
    heap_.set_thread(thread);
    const Block block = heap_.malloc(draw_size(band));
    if (random_.below(10'000) < forever_permyriad_) return;
    planned_.push({event + draw_life(band), event, thread, block});
  }

  void free(PlannedFree planned) {
    if (threads_ > 1 && random_.below(100) < remote_percent_) {
      const auto other = static_cast<uint32_t>(1 + random_.below(threads_ - 1));
      planned.thread = (planned.thread + other) % threads_;
    }
    heap_.set_thread(planned.thread);
    heap_.free(planned.block);
  }

  const SizeBand& draw_band() {
    uint64_t draw = random_.below(total_);
    const SizeBand* band = kBands;
    while (draw >= band->allocations) draw -= (band++)->allocations;
    return *band;
  }

  // Multiples of 8, evenly over the band.
  uint64_t draw_size(const SizeBand& band) {
    const uint64_t steps = std::max<uint64_t>(band.largest / 2 / kSizeStep, 1);
    return band.largest - kSizeStep * random_.below(steps);
  }

  // In events. Once the heap is full, half of the calls are allocations. By Little's law a mean
  // life of 2 x live x (share of live blocks / share of allocations) then keeps the band's number
  // of live blocks at its target.
  uint64_t draw_life(const SizeBand& band) {
    if (random_.below(100) < brief_percent_) return 1 + random_.below(kBriefEvents);
    const uint64_t mean = 2 * live_ * band.live / band.allocations;
    const uint64_t brief_part = brief_percent_ * (kBriefEvents / 2);
    const uint64_t long_part = std::max(100 * mean, brief_part) - brief_part;
    return 1 + draw_exponential(long_part / (100 - brief_percent_));
  }

  // Nearly exponential: the density halves with each octave and is even within it. The mean is
  // exact. In integers, because logarithms differ between machines in the last bit.
  uint64_t draw_exponential(uint64_t mean) {
    constexpr uint64_t kOne = 65'536;
    const auto octaves = static_cast<uint64_t>(std::countl_zero(random_.next() | 1));
    return mean * (octaves * kOne + random_.below(kOne)) / kOne * 2 / 3;
  }

  HeapWriter heap_;
  Random random_;
  uint64_t live_;
  uint32_t threads_;
  uint64_t remote_percent_;
  uint64_t brief_percent_;
  uint64_t forever_permyriad_;
  uint64_t total_ = 0;  // of the bands' allocations
  std::priority_queue<PlannedFree, std::vector<PlannedFree>, std::greater<>> planned_;
};

void generate(const Values& values, schema::TapeWriter& tape) {
  Fleet(values, tape).run(values["events"]);
}

}  // namespace

Scenario fleet_like_scenario() {
  return {"fleet-like",
          "sizes and lifetimes of server programs, on several threads",
          {{"events", 1'000'000, "number of calls"},
           {"live", 20'000, "live blocks on average, once the heap has filled"},
           {"threads", 4, "number of threads; each allocation picks one at random", {}, 1, 1024},
           {"remote", 20, "percent of frees made by a thread other than the allocating one"},
           {"brief", 80, "percent of blocks that live for at most 64 calls"},
           {"forever", 10, "blocks in 10,000 that are never freed"},
           {"seed", 1, "seed of the random numbers"}},
          generate};
}

}  // namespace heaptape::scenarios
