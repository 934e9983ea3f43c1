// A real allocator: the malloc of some shared library, in a worker process of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocators/backend.h"
#include "allocators/native/free_order.h"
#include "allocators/native/memory_tracker.h"
#include "allocators/native/resident_pages.h"
#include "allocators/native/tape_clock.h"
#include "allocators/native/worker_process.h"

namespace heaptape::allocators {

struct NativeOptions {
  std::string name;          // for messages
  std::string library = {};  // to preload: a path with a slash, or a name the loader searches;
                             // empty: the system's libc
  std::string refusal = {};  // why it cannot be started, if known beforehand; ends a sentence
  std::vector<std::string> environment = {};  // NAME=VALUE
  uint64_t recorded_break = 0;                // where the recorded run's heap began; 0 if unknown
  Touch touch = Touch::kPage;
  Answers answers = Answers::kPlacements;
  Calls calls = Calls::kMade;
  Threads threads = Threads::kMerged;
  Clock clock = Clock::kTape;
  uint32_t patience_ms = 30'000;  // for a single call
};

class NativeBackend : public Backend {
 public:
  explicit NativeBackend(NativeOptions options);

  const BackendTraits& traits() const override { return traits_; }
  std::string library() const override;
  std::string version() override;
  Result<std::vector<RegionEvent>> start() override;
  Status submit(const ReplayBatch& batch) override;
  Status collect(BatchResult& result) override;
  Result<Residency> residency(std::span<const AddressRange> regions) override;
  Result<std::optional<GivenBack>> give_back_memory() override;
  Result<Steered> steer(const schema::SteeringCall& call) override;
  Result<KeptMemory> kept_memory(std::span<const AddressRange> gaps) override;
  Result<OwnStatistics> own_statistics() override;
  std::vector<Counter> counters() override;
  std::string threads() const override;
  std::vector<LatencySummary> latencies() const override;
  void forget_latencies() override;
  double stamp_ns() const override;
  std::vector<std::string> notes() const override;
  std::string output() override;

 private:
  void give_turn();
  void give(Turn turn);
  double ns_per_tick() const;
  Status await_op();
  base::Error unusable(const std::string& why) const;
  Status check_provider();
  void give_next();
  void take_memory_calls(uint32_t op_offset, std::vector<RegionEvent>& events);
  bool can_afford_mallinfo() const;
  Status compare_with_mallinfo();
  Result<std::span<const Statistic>> ask_statistics();
  void append_statistics(std::vector<Counter>& counters);

  NativeOptions options_;
  BackendTraits traits_;
  std::unique_ptr<WorkerProcess> worker_;
  std::unique_ptr<MemoryTracker> memory_;
  std::optional<ResidentPages> resident_;  // since the worker started
  ReplayBatch batch_;                      // the batch under way
  size_t given_ = 0;                       // ops of it that the worker did before its current ones
  uint32_t given_end_ = 0;                 // how many ops the worker has
  size_t ends_given_ = 0;                  // thread ends of it that the worker has, or has done
  bool has_failed_ = false;
  bool is_at_work_ = false;  // the worker has a turn
  bool cannot_read_heap_ = false;
  std::string why_lock_step_;  // unless lock step was requested
  std::string no_statistics_;  // why there are none, although the replay succeeded
  TapeClock clock_;
  FreeOrder free_order_;
  uint64_t elapsed_ns_ = 0;
  uint64_t elapsed_ticks_ = 0;
  uint64_t memory_calls_ = 0;
  uint64_t page_faults_ = 0;
  uint64_t mallinfo_samples_ = 0;
  uint64_t mallinfo_cost_ns_ = 0;  // of all calls so far, estimated
  uint64_t mallinfo_largest_difference_ = 0;
};

}  // namespace heaptape::allocators
