// Every model, with every choice and some limits of its parameters, under calls made to meet its
// edges: sizes at and beside powers of two, pages and thresholds, resizes by one byte, holes that
// fit exactly, equal times, threads that end. Each answer is pinned: placements, memory taken and
// given back with its rule, absent and kept ranges, counters, growth. A change of a rule shows here
// by the model and the phase. HEAPTAPE_UPDATE_GOLDEN=1 writes the files anew, where the
// change is meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "allocators/catalog/model_list.h"
#include "base/address/region_set.h"
#include "base/number_text.h"
#include "base/parameters.h"
#include "tests/support/golden.h"
#include "tests/support/tapes.h"

namespace heaptape::allocators {
namespace {

// What numbers to try beside the defaults; all choices are tried.
struct Number {
  const char* model;
  const char* set;
};
constexpr Number kNumbers[] = {
    {"model:ptmalloc", "tcache_count=0"},
    {"model:ptmalloc", "tcache_count=1"},
    {"model:ptmalloc", "mmap_threshold=64KiB"},
    {"model:ptmalloc", "trim_threshold=0"},
    {"model:ptmalloc", "top_pad=0"},
    {"model:ptmalloc", "mmap_max=2"},
    {"model:ptmalloc", "arena_max=1"},
    {"model:ptmalloc", "arena_max=2"},
    {"model:ptmalloc", "cores=1"},
    {"model:slabs", "dirty_decay_ms=0"},
    {"model:slabs", "muzzy_decay_ms=10000"},
    {"model:slabs", "arenas=1"},
    {"model:slabs", "oversize_threshold=256KiB"},
    {"model:macos-large", "entries=1"},
    {"model:macos-large", "entries=4"},
    {"model:first-fit", "min_split=4096"},
    {"model:first-fit", "trim=64KiB"},
    {"model:next-fit", "min_split=512"},
    {"model:next-fit", "trim=1,grow_bytes=4096"},
    {"model:best-fit", "min_split=48"},
    {"model:best-fit", "trim=64KiB,grow_bytes=1MiB"},
    {"model:buddy", "min_order=6"},
    {"model:buddy", "max_order=12,trim=8192"},
    {"model:segregated", "trim=1,grow_bytes=64KiB"},
    {"model:bump", "grow_bytes=4096"},
    {"model:lmdb", "txn_ops=1"},
    {"model:lmdb", "txn_ops=50"},
    {"model:lmdb", "txn_ops=7,hold_reader=9"},
    {"model:lmdb", "txn_ops=7,variant=f2,skip_pages=3"},
    {"model:lmdb", "txn_ops=7,variant=f3,load_ids=20"},
};

std::vector<std::string> variants_of(const ModelEntry& model) {
  std::vector<std::string> variants = {""};
  for (const base::Parameter& parameter : model.parameters()) {
    for (const std::string& name : parameter.choices) {
      if (name != parameter.default_text()) variants.push_back(parameter.name + "=" + name);
    }
  }
  for (const Number& number : kNumbers) {
    if (model.name == std::string(number.model)) variants.emplace_back(number.set);
  }
  return variants;
}

// Around 2^k and 3 * 2^k, and around whole pages.
std::vector<uint64_t> edge_sizes() {
  std::vector<uint64_t> sizes = {0, 1};
  const auto add_around = [&sizes](uint64_t edge) {
    for (const uint64_t less : {32, 24, 17, 16, 9, 8, 1, 0}) {
      if (less < edge) sizes.push_back(edge - less);
    }
    for (const uint64_t more : {1, 8, 16}) sizes.push_back(edge + more);
  };
  for (int log2 = 4; log2 <= 22; ++log2) add_around(uint64_t{1} << log2);
  for (int log2 = 3; log2 <= 20; ++log2) add_around(uint64_t{3} << log2);
  for (const uint64_t pages : {5, 7, 9, 31, 33, 255}) add_around(pages * base::kPageBytes);
  return sizes;
}

// The calls, in phases. A block has a slot of its own, so answers do not change the calls.
class Calls {
 public:
  struct Phase {
    const char* name;
    size_t end;
  };

  // At the edges of sizes, and of holes.
  static Calls of_edges() {
    Calls calls;
    calls.sweep();
    calls.end_phase("sweep");
    for (const uint64_t less : {0, 16, 1}) calls.refill(less);
    calls.end_phase("refill");
    calls.churn(2500, 3 << 10);
    calls.end_phase("small churn");
    calls.churn(1500, UINT64_MAX);
    calls.end_phase("churn");
    while (!calls.live_.empty()) calls.release(calls.live_.size() / 2);
    calls.end_phase("release");
    calls.churn(300, UINT64_MAX);
    calls.end_phase("again");
    calls.note_deaths();
    return calls;
  }
  // Thousands of the same call in a row: as many holes as no list, log or cache takes at once.
  static Calls of_long_runs() {
    Calls calls;
    for (const uint64_t size : {2000, 40}) {
      for (int i = 0; i < 24'000; ++i) calls.place(ReplayKind::kMalloc, size);
      calls.end_phase("grow");
      for (size_t i = calls.live_.size(); i > 1; i -= 2) calls.release_unordered(i - 2);
      calls.end_phase("holes");
      for (const uint64_t other : {size + 500, size - 16, size}) {
        for (int i = 0; i < 100; ++i) calls.place(ReplayKind::kMalloc, other);
      }
      calls.end_phase("others");
      while (!calls.live_.empty()) calls.release_unordered(calls.live_.size() - 1);
      calls.end_phase("release");
    }
    calls.note_deaths();
    return calls;
  }

  const std::vector<Phase>& phases() const { return phases_; }
  // The calls from number `begin` on, up to `end`.
  ReplayBatch batch(size_t begin, size_t end) const {
    const auto part = [&](const auto& list) {
      const auto is_before = [](const auto& item, size_t event) { return item.event < event; };
      const auto from =
          std::ranges::lower_bound(list, begin, {}, [](const auto& item) { return item.event; });
      const auto to = std::lower_bound(from, list.end(), end, is_before);
      return std::span(from, to);
    };
    const std::span ops(ops_);
    return {.first_event = begin,
            .slot_limit = static_cast<uint32_t>(sizes_of_.size()),
            .ops = ops.subspan(begin, end - begin),
            .recorded_addresses = {},
            .samples = {},
            .times = part(times_),
            .thread_ends = part(ends_),
            .deaths = {std::span(deaths_).subspan(begin, end - begin), 0}};
  }

 private:
  Calls() = default;

  // A block of each size; then each grows and shrinks by a byte, doubles, and comes back.
  void sweep() {
    for (const uint64_t size : sizes_) place(ReplayKind::kMalloc, size);
    for (size_t i = 0; i < live_.size(); ++i) {
      const uint64_t size = std::max<uint64_t>(sizes_of_[live_[i]], 1);
      for (const uint64_t wanted : {size + 1, size, size - (size > 1), 2 * size, size})
        resize(i, wanted);
    }
  }
  // Every second block leaves, and blocks as large, or smaller by `less`, come in their stead.
  void refill(uint64_t less) {
    std::vector<uint64_t> sizes;
    for (size_t i = live_.size() & ~size_t{1}; i > 0; i -= 2) {
      sizes.push_back(sizes_of_[live_[i - 1]]);
      release(i - 1);
    }
    for (const uint64_t size : sizes) place(ReplayKind::kMalloc, size - std::min(size, less));
  }
  // Calls of twelve threads, most of which end now and then.
  void churn(int calls, uint64_t most_bytes) {
    static constexpr ReplayKind kKinds[] = {ReplayKind::kMalloc,       ReplayKind::kMalloc,
                                            ReplayKind::kMalloc,       ReplayKind::kCalloc,
                                            ReplayKind::kAlignedAlloc, ReplayKind::kMemalign,
                                            ReplayKind::kValloc,       ReplayKind::kPvalloc};
    for (int i = 0; i < calls; ++i) {
      thread_ = static_cast<uint16_t>(random_.below(random_.chance(3) ? 12 : 4));
      if (random_.chance(200))
        ends_.push_back({ops_.size(), static_cast<uint32_t>(2 + random_.below(10))});
      if (random_.chance(50))
        times_.push_back({ops_.size(), now_ += random_.below(3) * 700'000'000});
      if (random_.chance(60)) add({.kind = ReplayKind::kFreeNull});
      if (live_.size() < 40 || (live_.size() < 400 && random_.chance(2))) {
        const uint64_t size = any_size(most_bytes);
        place(kKinds[random_.below(std::size(kKinds))], size);
      } else if (const size_t i = random_.below(live_.size()); random_.chance(3)) {
        resize(i, std::max<uint64_t>(any_size(most_bytes), 1));
      } else {
        release(i);
      }
    }
  }

  uint64_t any_size(uint64_t most_bytes) {
    uint64_t size = UINT64_MAX;
    while (size > most_bytes) size = sizes_[random_.below(sizes_.size())];
    return size;
  }
  void add(ReplayOp op) {
    op.thread = thread_;
    ops_.push_back(op);
  }
  void place(ReplayKind kind, uint64_t size) {
    const auto log2 = static_cast<uint8_t>(random_.below(17));
    add({.kind = kind,
         .log2 = log2,
         .slot = static_cast<uint32_t>(sizes_of_.size()),
         .size = size});
    live_.push_back(static_cast<uint32_t>(sizes_of_.size()));
    sizes_of_.push_back(size);
  }
  // The block at that place among the live ones.
  void resize(size_t place, uint64_t size) {
    const uint32_t slot = live_[place];
    const uint8_t log2 = growth_log2(sizes_of_[slot], size);
    add({.kind = ReplayKind::kRealloc, .log2 = log2, .slot = slot, .size = size});
    sizes_of_[slot] = size;
  }
  void release(size_t place) {
    add({.kind = ReplayKind::kFree, .slot = live_[place], .size = sizes_of_[live_[place]]});
    live_.erase(live_.begin() + static_cast<ptrdiff_t>(place));
  }
  // The last one takes its place.
  void release_unordered(size_t place) {
    add({.kind = ReplayKind::kFree, .slot = live_[place], .size = sizes_of_[live_[place]]});
    live_[place] = live_.back();
    live_.pop_back();
  }
  void end_phase(const char* name) { phases_.push_back({name, ops_.size()}); }
  // Tick 1 is that of the first call.
  void note_deaths() {
    deaths_.resize(ops_.size());
    std::vector<uint32_t> next(sizes_of_.size(), Deaths::kNever);
    for (size_t i = ops_.size(); i-- > 0;) {
      if (ops_[i].kind == ReplayKind::kFreeNull) continue;
      const bool frees = ops_[i].kind == ReplayKind::kFree;
      deaths_[i] = frees ? 0 : next[ops_[i].slot];
      next[ops_[i].slot] = Deaths().tick_at(i);
    }
  }

  const std::vector<uint64_t> sizes_ = edge_sizes();
  tests::Random random_{1};
  std::vector<ReplayOp> ops_;
  std::vector<Phase> phases_;
  std::vector<schema::TimeSample> times_;
  std::vector<schema::ThreadEnd> ends_;
  std::vector<uint32_t> deaths_;
  std::vector<uint32_t> live_;      // slots
  std::vector<uint64_t> sizes_of_;  // by slot
  uint64_t now_ = 0;
  uint16_t thread_ = 0;
};

// FNV-1a.
class Digest {
 public:
  void add(uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8) hash_ = (hash_ ^ (value & 255)) * 0x100000001b3;
  }
  void add(const std::string& text) {
    for (const char c : text) add(static_cast<uint64_t>(c));
  }
  void add(const std::vector<AddressRange>& ranges) {
    for (const AddressRange& range : ranges) {
      add(range.begin);
      add(range.end);
    }
  }
  std::string text() const {
    return base::format_text("%08llx", static_cast<unsigned long long>(hash_ >> 32));
  }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

// A model's answers: for each phase a line of digests, of all placements, all changes of memory,
// and the rest.
class Answers {
 public:
  explicit Answers(Backend& backend) : backend_(backend) {}

  std::string lines(const Calls& calls) {
    if (backend_.has_foresight()) rehearse(calls);
    note(*backend_.start());
    std::string text;
    size_t begin = 0;
    for (const Calls::Phase& phase : calls.phases()) {
      run(calls.batch(begin, phase.end));
      begin = phase.end;
      note_state();
      if (const auto given = backend_.give_back_memory(); *given) note((*given)->regions);
      note_state();
      text += "  " + (phase.name + (": " + placements_.text() + " " + memory_.text())) + " " +
              others_.text() + "\n";
    }
    for (const std::string& note : backend_.notes()) text += "  " + note + "\n";
    return text;
  }

 private:
  void rehearse(const Calls& calls) {
    size_t begin = 0;
    for (const Calls::Phase& phase : calls.phases()) {
      EXPECT_TRUE(backend_.rehearse(calls.batch(begin, phase.end)).ok());
      begin = phase.end;
    }
  }
  void run(const ReplayBatch& batch) {
    BatchResult result;
    EXPECT_TRUE(backend_.submit(batch).ok());
    EXPECT_TRUE(backend_.collect(result).ok());
    for (const Placement& placement : result.placements) {
      placements_.add(placement.address);
      placements_.add(placement.usable_bytes);
    }
    note(result.regions);
  }
  void note(const std::vector<RegionEvent>& regions) {
    for (const RegionEvent& event : regions) {
      const bool is_more = event.kind == RegionEvent::Kind::kCommit;
      is_more ? committed_.add(event.range) : committed_.remove(event.range);
      memory_.add({event.range});
      memory_.add(uint64_t{event.op} << 1 | is_more);
      memory_.add(text_of(event.rule));
    }
  }
  void note_state() {
    const auto residency = backend_.residency(committed_.ranges());
    others_.add(residency->resident_bytes);
    others_.add(*residency->absent);
    const auto kept = backend_.kept_memory(committed_.ranges());
    others_.add(kept->cached);
    others_.add(kept->own);
    for (const Counter& counter : backend_.counters()) {
      others_.add(counter.name);
      others_.add(counter.value);
    }
    for (const GrowthCurve& curve : backend_.growth()) {
      for (const GrowthPoint& point : curve.points) {
        for (const uint64_t value : {point.operations, point.scale_sum, point.work_sum})
          others_.add(value);
      }
    }
  }

  Backend& backend_;
  base::RegionSet committed_;
  Digest placements_, memory_, others_;
};

std::string answers(const ModelEntry& model, const std::string& sets, const Calls& calls) {
  const auto values = base::parse_values(model.name, model.parameters(), base::split_sets(sets));
  if (!values.ok()) return values.error().message + "\n";
  const auto backend = model.make(*values, 0x555555559000);
  return model.name + (sets.empty() ? "" : ":" + sets) + "\n" + Answers(*backend).lines(calls);
}

TEST(ModelEdges, AreWhereTheyWere) {
  const Calls calls = Calls::of_edges();
  std::string text;
  for (const ModelEntry& model : models()) {
    for (const std::string& sets : variants_of(model)) text += answers(model, sets, calls);
  }
  tests::expect_golden("model-edges.txt", text);
}

TEST(ModelEdges, AreWhereTheyWereInLongRuns) {
  const Calls calls = Calls::of_long_runs();
  std::string text;
  for (const ModelEntry& model : models()) text += answers(model, "", calls);
  tests::expect_golden("model-long-runs.txt", text);
}

}  // namespace
}  // namespace heaptape::allocators
