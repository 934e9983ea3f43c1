// Puts a model behind the Backend contract. The loop over the ops is compiled together with the
// model so that no event needs a virtual call: hence all of it is in this header.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "allocators/models/model.h"
#include "base/clock.h"

namespace heaptape::allocators {

// The initial program break of the recorded run.
struct RecordedBreak {
  uint64_t address = 0;  // 0: not known
};

template <SimulatedAllocator Model>
class ModelBackend : public Backend {
 public:
  // For most models, from the values of its parameters.
  template <typename... Arguments>
  explicit ModelBackend(Arguments&&... arguments)
      : ModelBackend(RecordedBreak(), std::forward<Arguments>(arguments)...) {}
  template <typename... Arguments>
  explicit ModelBackend(RecordedBreak recorded_break, Arguments&&... arguments)
      : space_(recorded_break.address),
        model_(space_, std::forward<Arguments>(arguments)...),
        traits_(model_.traits()) {}

  const BackendTraits& traits() const override { return traits_; }

  Result<std::vector<RegionEvent>> start() override {
    HEAPTAPE_RETURN_IF_ERROR(state(0));
    return take_regions();
  }

  Status submit(const ReplayBatch& batch) override {
    if (addresses_.size() < batch.slot_limit) {
      addresses_.resize(std::max<size_t>(batch.slot_limit, addresses_.size() * 2));
    }
    placements_.resize(batch.ops.size());
    next_time_ = next_end_ = 0;
    const uint64_t begin_ns = base::monotonic_ns();
    for (uint32_t i = 0; i < batch.ops.size(); ++i) {
      space_.begin_op(i);
      tell_circumstances(batch, i);
      placements_[i] = run(batch.ops[i]);
      note_work(batch.ops[i].kind);
      if constexpr (requires { model_.has_fault(); }) {
        HEAPTAPE_RETURN_IF_ERROR(state(batch.first_event + i + 1));
      }
    }
    tell_thread_ends(batch, UINT64_MAX);
    tell_times(batch, UINT64_MAX);
    events_ = batch.first_event + batch.ops.size();
    elapsed_ns_ = base::monotonic_ns() - begin_ns;
    return {};
  }

  Status collect(BatchResult& result) override {
    result.clear();
    result.placements.swap(placements_);
    result.regions = take_regions();
    result.elapsed_ns = elapsed_ns_;
    return {};
  }

  Result<Residency> residency(std::span<const AddressRange> regions) override {
    if constexpr (requires { model_.audit(); }) model_.audit();
    Residency residency;
    residency.absent = model_.absent();
    HEAPTAPE_RETURN_IF_ERROR(state(events_));
    for (const AddressRange& region : regions) residency.resident_bytes += region.bytes();
    for (const AddressRange& range : *residency.absent) residency.resident_bytes -= range.bytes();
    return residency;
  }

  Result<std::optional<GivenBack>> give_back_memory() override {
    std::optional<GivenBack> given_back;
    if constexpr (requires { model_.give_back_memory(); }) {
      const uint64_t begin_ns = base::monotonic_ns();
      model_.give_back_memory();
      given_back.emplace();
      given_back->elapsed_ns = base::monotonic_ns() - begin_ns;
      given_back->regions = take_regions();
    }
    return given_back;
  }

  Result<Steered> steer(const schema::SteeringCall& call) override {
    Steered steered;
    space_.begin_op(0);
    if constexpr (requires { model_.set_thread(0u); }) {
      model_.set_thread(static_cast<uint16_t>(call.thread));
    }
    if constexpr (requires { model_.steer(call); }) steered.outcome = model_.steer(call);
    if constexpr (requires { model_.give_back_memory(); }) {
      if (steered.outcome == SteeringOutcome::kIgnored &&
          schema::steering_info(call.op).gives_back()) {
        model_.give_back_memory();
        steered.outcome = SteeringOutcome::kCounterpart;
      }
    }
    steered.regions = take_regions();
    return steered;
  }

  Result<KeptMemory> kept_memory(std::span<const AddressRange> gaps) override {
    if constexpr (requires { model_.kept_memory(gaps); }) return model_.kept_memory(gaps);
    return KeptMemory();
  }

  std::vector<Counter> counters() override { return model_.counters(); }

  std::string threads() const override {
    constexpr bool kKnowsThreads = requires(Model& model) { model.set_thread(0u); };
    return kKnowsThreads ? "ordered" : "merged";
  }

  std::vector<GrowthCurve> growth() const override {
    if constexpr (requires { model_.growth(); }) {
      return model_.growth();
    } else {
      static constexpr const char* kFamilies[] = {"allocation", "realloc", "free"};
      std::vector<GrowthCurve> curves;
      if (*model_.work_unit() == 0) return curves;
      for (size_t i = 0; i < growth_.size(); ++i) {
        curves.push_back(growth_[i].curve(kFamilies[i], model_.work_unit(), "live blocks"));
      }
      return curves;
    }
  }

 private:
  // The fault of a model that has one, noticed at `event`.
  Status state(uint64_t event) const {
    if constexpr (requires { model_.has_fault(); }) {
      if (model_.has_fault()) [[unlikely]]
        return model_.fault(event);
    }
    return {};
  }

  // Passes on circumstances beyond the calls' arguments.
  void tell_circumstances(const ReplayBatch& batch, uint32_t i) {
    tell_thread_ends(batch, batch.first_event + i);
    if constexpr (requires { model_.set_thread(0u); }) model_.set_thread(batch.ops[i].thread);
    if constexpr (requires { model_.set_death(0u, 0u); }) {
      const Deaths& deaths = batch.deaths;
      if (!deaths.ticks.empty()) {
        model_.set_death(deaths.tick_at(batch.first_event + i), deaths.ticks[i]);
      }
    }
    tell_times(batch, batch.first_event + i);
  }

  // A time sample gives the time that had passed after so many calls.
  void tell_times(const ReplayBatch& batch, uint64_t event) {
    if constexpr (requires { model_.set_time(uint64_t{}); }) {
      while (next_time_ < batch.times.size() && batch.times[next_time_].event <= event) {
        model_.set_time(batch.times[next_time_++].time_ns);
      }
    }
  }

  // The ends that come before call number `event`, counted from 0.
  void tell_thread_ends(const ReplayBatch& batch, uint64_t event) {
    if constexpr (requires { model_.end_thread(0u); }) {
      while (next_end_ < batch.thread_ends.size() && batch.thread_ends[next_end_].event <= event) {
        model_.end_thread(static_cast<uint16_t>(batch.thread_ends[next_end_++].thread));
      }
    }
  }

  void note_work(ReplayKind kind) {
    if constexpr (!requires { model_.growth(); }) {
      if (kind == ReplayKind::kNothing || kind == ReplayKind::kFreeNull) return;
      const uint64_t work = model_.work();
      growth_[kind == ReplayKind::kFree      ? 2
              : kind == ReplayKind::kRealloc ? 1
                                             : 0]
          .add(live_blocks_, work - work_seen_);
      work_seen_ = work;
    }
  }

  std::vector<RegionEvent> take_regions() {
    std::vector<RegionEvent> events;
    events.swap(space_.events());
    return events;
  }

  Placement allocate(const ReplayOp& op) {
    switch (op.kind) {
      case ReplayKind::kCalloc:
        return model_.allocate_zeroed(op.size);
      case ReplayKind::kMemalign:
      case ReplayKind::kAlignedAlloc:
      case ReplayKind::kPosixMemalign:
        return model_.allocate(op.size, uint64_t{1} << op.log2);
      case ReplayKind::kValloc:
        return model_.allocate(op.size, kPageBytes);
      case ReplayKind::kPvalloc:
        if (op.size > UINT64_MAX - kPageBytes) return {};
        return model_.allocate(page_up(op.size), kPageBytes);
      default:
        return model_.allocate(op.size, 0);
    }
  }

  Placement run(const ReplayOp& op) {
    if (op.kind == ReplayKind::kFreeNull) {
      if constexpr (requires { model_.release_null(); }) model_.release_null();
      return {};
    }
    if (op.kind == ReplayKind::kNothing) return {};
    uint64_t& address = addresses_[op.slot];
    switch (op.kind) {
      case ReplayKind::kFree:
        if (address == 0) return {};
        model_.release(address);
        address = 0;
        --live_blocks_;
        return {};
      case ReplayKind::kRealloc: {
        const Placement moved =
            address != 0 ? model_.reallocate(address, op.size) : model_.allocate(op.size, 0);
        if (moved.address == 0) return {};
        live_blocks_ += address == 0;
        address = moved.address;
        return moved;
      }
      default: {
        const Placement placed = allocate(op);
        address = placed.address;
        live_blocks_ += placed.address != 0;
        return placed;
      }
    }
  }

  AddressSpace space_;
  Model model_;
  BackendTraits traits_;
  std::vector<uint64_t> addresses_;  // by slot; 0 = no block
  std::vector<Placement> placements_;
  uint64_t elapsed_ns_ = 0;
  uint64_t events_ = 0;   // so far
  size_t next_time_ = 0;  // in the times of the batch
  size_t next_end_ = 0;   // in its thread ends
  uint64_t live_blocks_ = 0;
  uint64_t work_seen_ = 0;
  std::array<GrowthLog, 3> growth_;  // allocation, realloc, free
};

}  // namespace heaptape::allocators
