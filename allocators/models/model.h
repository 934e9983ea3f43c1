// The contract of all models in this tree: allocators over simulated addresses that do not touch
// their blocks' memory and give the same answers every time.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "allocators/backend.h"
#include "base/address/pages.h"
#include "base/parameters.h"

namespace heaptape::allocators {

using base::kPageBytes;
using base::page_down;
using base::page_up;
using base::round_down;
using base::round_up;

inline constexpr int kPageLog2 = 12;
static_assert(kPageBytes == uint64_t{1} << kPageLog2);

// Where models begin to map: the middle of a Linux process's address space. A model that wraps
// another (page blocks over a malloc, say) maps its own memory at kWrapperBase and above, so that
// the two never meet.
inline constexpr uint64_t kModelBase = 0x100000000000;
inline constexpr uint64_t kWrapperBase = 0x400000000000;
inline constexpr uint64_t kSpaceEnd = uint64_t{1} << 47;  // of a process on x86-64
// Beyond this, no request can be served, and sums of sizes and alignments could wrap.
inline constexpr uint64_t kMostRequestBytes = uint64_t{1} << 60;

// A model tells its address space what memory it holds; the engine gets the changes as
// RegionEvents. Purged pages stay committed but lose their contents: they are absent until a block
// is placed on them again.
class AddressSpace {
 public:
  // `recorded_break`: the initial program break of the recorded run; 0 if not known.
  explicit AddressSpace(uint64_t recorded_break = 0)
      : break_phase_(allocators::break_phase(recorded_break)) {}

  // Add it to a simulated address of a heap that grows from the break to get the alignment in the
  // real heap: models begin at multiples of kBreakPeriodBytes.
  uint64_t break_phase() const { return break_phase_; }

  // `rule`: the reason, if the model has several.
  void commit(AddressRange range, const CommitRule& rule = kNoRule);
  void decommit(AddressRange range);

  // For the adapter: the changes since the last call, each with its op.
  void begin_op(uint32_t op) { op_ = op; }
  std::vector<RegionEvent>& events() { return events_; }

 private:
  const uint64_t break_phase_;
  uint32_t op_ = 0;
  std::vector<RegionEvent> events_;
};

// One thread. Sizes and alignments are as the program asked; alignment 0 is the model's own.
//
// A model is made from its address space, which outlives it, and the values of its parameters.
// Beyond the concept, a model may have
//   void set_thread(uint32_t thread)         the recorded thread (dense, 0 = the first) that makes
//                                            the following calls
//   void end_thread(uint32_t thread)         it has ended; later calls under its number are a new
//                                            thread's
//   void set_time(uint64_t time_ns)          of the recorded run, never falling
//   void set_death(uint32_t now, uint32_t death)
//                                            when the next call is made, and when the block that it
//                                            places dies (see Deaths)
//   void give_back_memory()                  what the allocator does when asked to give free memory
//                                            back to the system
//   SteeringOutcome steer(const schema::SteeringCall& call)
//                                            repeats a call by which the recorded program steered
//                                            its allocator, as far as it has such a setting; where
//                                            that has no outcome, give_back_memory() may be its
//                                            counterpart
//   KeptMemory kept_memory(std::span<const AddressRange> gaps) const
//                                            as in Backend
//   void release_null()                      free(NULL), for models with something to commit
//   std::vector<GrowthCurve> growth() const  replaces the adapter's curves of work() by kind
//                                            of call against live blocks
// and, for foreign code, which may misbehave (plugin/plugin_backend.h),
//   void audit()                             between batches
//   bool has_fault() const                   checked after every call; ends the replay with
//   base::Error fault(uint64_t event) const
template <typename M>
concept SimulatedAllocator =
    requires(M model, const M& constant, uint64_t bytes, uint64_t alignment, uint64_t address) {
      // A new block; address 0 if the model refuses (a size beyond its address space).
      { model.allocate(bytes, alignment) } -> std::same_as<Placement>;
      // The same, zeroed: a model may charge itself for the zeroing.
      { model.allocate_zeroed(bytes) } -> std::same_as<Placement>;
      // `address` is that of a live block; returns where the block is now. bytes > 0.
      { model.reallocate(address, bytes) } -> std::same_as<Placement>;
      // `address` is that of a live block.
      { model.release(address) } -> std::same_as<void>;
      // Committed pages without contents, ascending.
      { constant.absent() } -> std::same_as<std::vector<AddressRange>>;
      { constant.counters() } -> std::same_as<std::vector<Counter>>;
      // Steps of search and moving so far, in the unit named by work_unit() ("nodes visited"; "" if
      // none are counted), for the growth check. Constant-time bookkeeping is not work. The unit
      // and the traits are static members, except where they are those of a model underneath.
      { constant.work() } -> std::same_as<uint64_t>;
      { constant.work_unit() } -> std::same_as<const char*>;
      { constant.traits() } -> std::same_as<BackendTraits>;
    };

template <typename M>
concept AllocatorModel =
    SimulatedAllocator<M> && std::constructible_from<M, AddressSpace&, const base::Values&> &&
    requires {
      { M::parameters() } -> std::same_as<std::vector<base::Parameter>>;
    };

}  // namespace heaptape::allocators
