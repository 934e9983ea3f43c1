// What every model of this tree is: an allocator over simulated addresses. It touches no memory of
// its blocks and gives the same answers every time.
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

// Where models begin to map: the middle of what Linux gives a process. A model that wraps another
// (page blocks over a malloc, say) maps its own memory from kWrapperBase on, so that the two never
// meet.
inline constexpr uint64_t kModelBase = 0x100000000000;
inline constexpr uint64_t kWrapperBase = 0x400000000000;
inline constexpr uint64_t kSpaceEnd = uint64_t{1} << 47;  // of a process on x86-64
// Beyond, no request can be served, and sums of sizes and alignments could wrap.
inline constexpr uint64_t kMostRequestBytes = uint64_t{1} << 60;

// A model tells its address space what memory it holds; the engine gets the changes as
// RegionEvents. Purged pages stay committed and lose their contents: they are absent until a block
// is placed on them again.
class AddressSpace {
 public:
  // `recorded_break`: where the program break of the recorded run was at first; 0: not known.
  explicit AddressSpace(uint64_t recorded_break = 0)
      : break_phase_(allocators::break_phase(recorded_break)) {}

  // What to add to a simulated address of a heap that grows from the break to know how it would be
  // aligned: models begin at multiples of kBreakPeriodBytes.
  uint64_t break_phase() const { return break_phase_; }

  // `rule`: why, where the model has more ways than one to come to it.
  void commit(AddressRange range, const CommitRule& rule = kNoRule);
  void decommit(AddressRange range);

  // For the adapter: the changes since the last call, stamped with the op they happened in.
  void begin_op(uint32_t op) { op_ = op; }
  std::vector<RegionEvent>& events() { return events_; }

 private:
  const uint64_t break_phase_;
  uint32_t op_ = 0;
  std::vector<RegionEvent> events_;
};

// One thread. Sizes and alignments are as the program asked; alignment 0: the model's own.
//
// A model is made from its address space, which outlives it, and the values of its parameters.
// Beyond the concept, a model may have
//   void set_thread(uint32_t thread)         the recorded thread (dense, 0 = the first) that makes
//                                            the calls that follow
//   void end_thread(uint32_t thread)         it has ended; later calls under its number are a new
//                                            thread's
//   void set_time(uint64_t time_ns)          of the recorded run, never falling
//   void set_death(uint32_t now, uint32_t death)
//                                            when the next call is made, and when the block that it
//                                            places dies (see Deaths)
//   void give_back_memory()                  what the allocator does when it is asked to give free
//                                            memory back to the system
//   KeptMemory kept_memory(std::span<const AddressRange> gaps) const
//                                            as Backend has it
//   void release_null()                      free(NULL), for models with something to commit
//   std::vector<GrowthCurve> growth() const  instead of the curves that the adapter keeps, of
//                                            work() by kind of call against live blocks
// and, if it is foreign code, which may do wrong (plugin/plugin_backend.h),
//   void audit()                             between batches
//   bool has_fault() const                   looked at after every call; ends the replay with
//   base::Error fault(uint64_t event) const
template <typename M>
concept SimulatedAllocator =
    requires(M model, const M& constant, uint64_t bytes, uint64_t alignment, uint64_t address) {
      // A new block; address 0 when the model refuses (a size beyond its address space).
      { model.allocate(bytes, alignment) } -> std::same_as<Placement>;
      // The same, to be zeroed: a model may charge itself for the zeroing.
      { model.allocate_zeroed(bytes) } -> std::same_as<Placement>;
      // `address` is of a live block; the result is where the block is now. bytes > 0.
      { model.reallocate(address, bytes) } -> std::same_as<Placement>;
      // `address` is of a live block.
      { model.release(address) } -> std::same_as<void>;
      // Committed pages that hold nothing, ascending.
      { constant.absent() } -> std::same_as<std::vector<AddressRange>>;
      { constant.counters() } -> std::same_as<std::vector<Counter>>;
      // Steps of search and moving so far, in the unit that work_unit() names ("nodes visited"; ""
      // = none are counted): what the growth check looks at. Constant-time bookkeeping is not work.
      // The unit and the traits are static members, except where they are those of a model
      // underneath.
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
