// The same random calls to the malloc of this system and to its model: every block of the heap must
// be at the same offset from the initial break, or from the beginning of its arena's heap.
#include "tests/support/fuzz_calls.h"

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "tests/support/programs.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using allocators::Placement;
using allocators::PtmallocModel;

struct Setting {
  std::vector<std::string> environment;
  std::vector<std::string> options;  // the same for the model
  uint32_t threads = 1;
  uint32_t calls = 40000;

  friend void PrintTo(const Setting& setting, std::ostream* out) {
    for (const std::string& option : setting.options) *out << option << " ";
    *out << "threads=" << setting.threads;
  }
};

std::vector<fuzz_outcome> outcomes_of_glibc(uint64_t seed, const Setting& setting) {
  const auto ended =
      tests::run({.words = {tests::target_path("replay_fuzz"), std::to_string(seed),
                            std::to_string(setting.calls), std::to_string(setting.threads)},
                  .environment = setting.environment});
  EXPECT_EQ(ended.status, 0) << ended.describe();
  std::vector<fuzz_outcome> outcomes(ended.out.size() / sizeof(fuzz_outcome));
  std::memcpy(outcomes.data(), ended.out.data(), outcomes.size() * sizeof(fuzz_outcome));
  return outcomes;
}

class FuzzedModel {
 public:
  explicit FuzzedModel(const Setting& setting)
      : model_(space_,
               *base::parse_values("the model", PtmallocModel::parameters(), setting.options)) {
    // What pthread_create() asks for: the vector of its thread-local storage.
    for (uint32_t i = 1; i < setting.threads; ++i) model_.allocate_zeroed(272);
  }

  Placement make(const fuzz_call& call) {
    model_.set_thread(call.thread);
    uint64_t& block = blocks_[call.slot];
    if (call.kind == kFuzzEndThread) model_.end_thread(call.thread);
    if (call.kind == kFuzzFree) model_.release(block);
    if (call.kind >= kFuzzFree) return {};
    const Placement placed = call.kind == kFuzzCalloc ? model_.allocate_zeroed(call.size)
                             : call.kind == kFuzzMemalign
                                 ? model_.allocate(call.size, call.alignment)
                             : call.kind == kFuzzRealloc ? model_.reallocate(block, call.size)
                                                         : model_.allocate(call.size, 0);
    block = placed.address;
    return placed;
  }

  fuzz_outcome totals() const { return {counter("arenaBytes"), counter("inUseBytes")}; }

  static fuzz_outcome outcome(const Placement& placed) {
    const allocators::ptmalloc::Chunk chunk = allocators::ptmalloc::chunk_of(placed.address);
    const uint64_t place = chunk == allocators::ptmalloc::kMappedChunk ? FUZZ_MAPPED
                           : allocators::ptmalloc::is_main(chunk)
                               ? placed.address - PtmallocModel::traits().initial_break
                               : FUZZ_IN_HEAP | (placed.address & FUZZ_HEAP_MASK);
    return {place, placed.usable_bytes};
  }

 private:
  uint64_t counter(const char* name) const {
    for (const allocators::Counter& counter : model_.counters()) {
      if (counter.name == name) return counter.value;
    }
    return 0;
  }

  allocators::AddressSpace space_;
  PtmallocModel model_;
  uint64_t blocks_[kFuzzSlots] = {};
};

std::string describe(const fuzz_outcome& outcome) {
  std::ostringstream out;
  out << "place 0x" << std::hex << outcome.place << std::dec << ", usable " << outcome.usable_bytes;
  return out.str();
}

// Ends at the first difference: what follows would say nothing.
void expect_same(std::span<const fuzz_outcome> real, uint64_t seed, const Setting& setting) {
  FuzzedModel model(setting);
  fuzz_calls calls;
  fuzz_begin(&calls, seed, setting.threads);
  size_t next = 0;
  for (uint32_t i = 0; i < setting.calls; ++i) {
    const fuzz_call call = fuzz_next(&calls);
    const fuzz_outcome modelled = FuzzedModel::outcome(model.make(call));
    if (call.kind >= kFuzzFree) continue;
    ASSERT_LT(next, real.size()) << "the program ended early";
    ASSERT_EQ(describe(modelled), describe(real[next++]))
        << "call " << i << " of seed " << seed << ": kind " << call.kind << ", slot " << call.slot
        << ", thread " << call.thread << ", size " << call.size << ", alignment " << call.alignment;
  }
  ASSERT_EQ(next + 1, real.size());
  EXPECT_EQ(describe(model.totals()), describe(real[next]));
}

class PtmallocAgainstGlibc : public testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    const std::string reason = tests::not_glibc_2_36();
    if (!reason.empty()) GTEST_SKIP() << reason;
  }
};

TEST_P(PtmallocAgainstGlibc, PlacesEveryBlockAtTheSameOffset) {
  for (int i = 0; i < 2 && !HasFailure(); ++i) {
    const uint64_t seed = tests::test_seed() % 1000000 + static_cast<uint64_t>(i);
    SCOPED_TRACE("HEAPTAPE_TEST_SEED=" + std::to_string(seed));
    expect_same(outcomes_of_glibc(seed, GetParam()), seed, GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PtmallocAgainstGlibc,
    testing::Values(Setting{},
                    Setting{{"GLIBC_TUNABLES=glibc.malloc.tcache_count=0"}, {"tcache_count=0"}},
                    Setting{{"MALLOC_MMAP_THRESHOLD_=131072"}, {"mmap_threshold=131072"}},
                    Setting{{"MALLOC_TOP_PAD_=0", "MALLOC_TRIM_THRESHOLD_=10000"},
                            {"top_pad=0", "trim_threshold=10000"}},
                    Setting{{"MALLOC_MMAP_MAX_=0"}, {"mmap_max=0"}, 3, 15000},
                    Setting{{}, {}, 3, 15000},
                    Setting{{"MALLOC_ARENA_MAX=2"}, {"arena_max=2"}, 5, 15000}));

}  // namespace
}  // namespace heaptape
