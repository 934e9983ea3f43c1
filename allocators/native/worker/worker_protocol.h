// The shared memory between a native backend and its worker process, one batch at a time. Free of
// the C++ run-time library.
//
// - The two take turns, and `turn`, a futex, says whose it is. It is handed over by a release store
//   and taken by an acquire load, so all else is plain memory, written by the side that has it.
// - The worker may hand a batch back half done, at `op_done`, if the log of memory calls could not
//   hold those of another op. The backend empties the log and lets it continue from there.
// - Every memory call is in the log, under the op that made it; a call between two turns, under the
//   next op. A log that overflows all the same is a failure.
// - If libc itself serves malloc, the log also has calls of madvise; gave_back_untold says that the
//   log lacks some.
// - Threads end between ops; a batch handed back half done may have all ops done and ends left.
// - A `failure`, once set, stays. Anything else the worker wrote with it is meaningless.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocators/replay_op.h"
#include "allocators/steering_outcome.h"
#include "schema/tape/steering_op.h"

namespace heaptape::allocators {

inline constexpr uint64_t kWorkerMagic = 0x3272656b726f7768;  // "hworker2"
inline constexpr uint32_t kMaxMemoryCalls = 1u << 12;
// With less room in the log than this, the worker does not begin another op, but hands the batch
// back: every op may make this many memory calls.
inline constexpr uint32_t kMemoryCallsPerOp = 1u << 10;
inline constexpr uint32_t kMaxThreadEnds = 1u << 10;  // in one turn
inline constexpr uint32_t kProviderPathBytes = 4096;  // PATH_MAX
inline constexpr uint32_t kFunctionNameBytes = 32;
inline constexpr uint32_t kMaxStatistics = 12;
inline constexpr uint32_t kStatisticNameBytes = 40;
inline constexpr uint32_t kVersionBytes = 64;

// Whose move it is. The backend writes one of kRun to kQuit; the worker answers kBackend, or exits
// on kQuit.
enum class Turn : uint32_t {
  kStarting = 0,
  kBackend,
  kRun,
  kDescribe,  // compare with mallinfo2
  kGiveBack,  // ask the library to give free memory back
  kSteer,     // make the call of steering_op, or its counterpart
  kSayMore,   // its other statistics; their memory calls are not the replay's
  kQuit,
};

enum class Touch : uint32_t { kNone = 0, kPage = 1, kAll = 2 };

// kPlacements: the worker says where each block is. kNone: it only takes the time, and asks nothing
// of the allocator that the program did not ask.
enum class Answers : uint32_t { kPlacements = 0, kNone };

// kLeftOut: the loop runs without an allocator, to measure its own cost.
enum class Calls : uint32_t { kMade = 0, kLeftOut = 1 };

// The threads that make the calls.
enum class Threads : uint32_t {
  kMerged = 0,  // all on one
  kOrdered,     // each as if on a thread of its own; needs can_borrow
  kLockStep,    // each by a thread of its own, one after the other
  kFree,        // each by a thread of its own, all at the same time
};

// A thread that ends before ops[op], or after the last op of the turn.
struct EndingThread {
  uint32_t op;
  uint16_t thread;
};

// The clock that the allocator sees.
enum class Clock : uint32_t { kTape = 0, kReal = 1 };

// The time of the tape that has passed when op number `op` of the batch is run: see tape_clock.h.
struct ClockPoint {
  int64_t op;  // negative: before the batch
  uint64_t time_ns;
};
inline constexpr uint32_t kMaxClockPoints = 2 * kMaxBatchOps + 2;

// A system call of the worker that changed the address space or gave pages back.
struct MemoryCall {
  uint32_t op;  // index in the batch
  uint32_t number;
  uint64_t arguments[5];
  uint64_t result;
};
static_assert(sizeof(MemoryCall) == 56);

// A heap statistic of the library, by its name in the report.
struct Statistic {
  char name[kStatisticNameBytes];
  uint64_t value;
};

enum class WorkerFailure : uint32_t {
  kNone = 0,
  kNoSeccomp,    // the kernel does not let it watch its own memory calls
  kLogOverflow,  // one op made more memory calls than the log holds
  kNoSlotMemory,
  kNoTouchMemory,  // a block exceeds the memory left
  kNoThreads,      // the system has no more threads, or no memory for them
};

// Latencies of single calls, one op in kLatencyPeriod, in processor ticks: HDR-style buckets, 16
// per doubling, so the error is below 7 % (Tene, HdrHistogram).
inline constexpr uint32_t kLatencyPeriod = 61;  // prime, to match no rhythm of the program
inline constexpr uint32_t kLatencyBuckets = 64 * 16;

constexpr uint32_t latency_bucket(uint64_t ticks) {
  if (ticks < 16) return static_cast<uint32_t>(ticks);
  const int log2 = 63 - __builtin_clzll(ticks);
  return static_cast<uint32_t>((log2 - 3) * 16) + static_cast<uint32_t>((ticks >> (log2 - 4)) & 15);
}
// The greatest number of ticks in the bucket.
constexpr uint64_t latency_bucket_end(uint32_t bucket) {
  if (bucket < 16) return bucket;
  const int log2 = static_cast<int>(bucket / 16) + 3;
  const uint64_t step = uint64_t{1} << (log2 - 4);
  return (uint64_t{16} + bucket % 16 + 1) * step - 1;
}

// Latencies are separated by block size: up to each of these, and above the last, from which on
// glibc maps each block.
inline constexpr uint64_t kSizeBandEnds[] = {64, 512, 4096, 128 << 10};
inline constexpr int kSizeBands = 5;

constexpr int size_band(uint64_t bytes) {
  int band = 0;
  while (band < kSizeBands - 1 && bytes > kSizeBandEnds[band]) ++band;
  return band;
}

struct LatencyHistogram {
  uint64_t max_ticks;
  uint64_t max_event;  // number of that call, from 1; 0 if none was timed
  uint64_t buckets[kLatencyBuckets];

  // Call number `event` took place between two stamps `ticks` apart, including `stamp_ticks` for
  // the stamps themselves. One thread at a time.
  void note(uint64_t event, uint64_t ticks, uint64_t stamp_ticks) {
    ticks = ticks > stamp_ticks ? ticks - stamp_ticks : 0;
    ++buckets[latency_bucket(ticks)];
    if (ticks <= max_ticks && max_event != 0) return;
    max_ticks = ticks;
    max_event = event;
  }
};

struct WorkerShared {
  uint64_t magic;
  std::atomic<Turn> turn;
  WorkerFailure failure;

  // From the backend.
  uint64_t break_phase;  // the initial program break, modulo kBreakPeriodBytes
  Touch touch;
  Answers answers;
  Calls allocator_calls;
  Threads threads;
  uint64_t first_event;  // calls before ops[0]
  uint32_t op_begin;     // run ops[op_begin, op_end)
  uint32_t op_end;
  uint32_t slot_limit;  // above every slot in the batch
  uint32_t end_begin;   // end the threads of ends[end_begin, end_end)
  uint32_t end_end;
  Clock clock;
  uint32_t clock_point_count;      // ascending by op and by time
  schema::SteeringOp steering_op;  // kSteer: schema::SteeringCall
  uint16_t steering_thread;
  int64_t steering_arguments[2];

  // From the worker.
  uint32_t op_done;     // ops before this one are done
  uint32_t end_done;    // the same for thread ends
  uint32_t current_op;  // under way: the backend may read it in the worker's turn
  uint32_t memory_calls;
  uint32_t sleepers;          // threads that wait for a time of the tape
  uint32_t gave_back_untold;  // 1: madvise calls are missing in the log; the backend clears it
  uint64_t elapsed_ns;        // for these ops, or for kGiveBack
  uint64_t elapsed_ticks;
  uint64_t touch_ticks;  // of these: writing to blocks, a page or more at once; kFree: unknown, 0
  uint64_t page_faults;  // that needed no disk, for these ops
  uint64_t initial_break;
  uint64_t mallinfo_arena;  // kDescribe, only if libc itself serves malloc
  uint64_t mallinfo_hblkhd;
  uint64_t mallinfo_free_chunks;  // that mallinfo2 walked over
  uint32_t can_give_back;         // kGiveBack: 0 if the library has no function for it
  SteeringOutcome steered;        // kSteer
  uint32_t statistic_count;       // kSayMore
  Statistic statistics[kMaxStatistics];
  char version[kVersionBytes];  // the same: the library's own text, mimalloc's number in digits
  uint32_t libc_serves_malloc;
  uint32_t can_borrow;                // 1: the driver can have another thread's pointer
  uint32_t stamp_cost_ticks;          // of the two clock readings around a timed op
  char provider[kProviderPathBytes];  // the library that serves malloc
  char missing[kFunctionNameBytes];   // calloc, realloc or free, if that library lacks it
  LatencyHistogram latency[kReplayKinds][kSizeBands];

  alignas(64) ClockPoint clock_points[kMaxClockPoints];
  alignas(64) MemoryCall calls[kMaxMemoryCalls];
  alignas(64) EndingThread ends[kMaxThreadEnds];  // by op
  alignas(64) ReplayOp ops[kMaxBatchOps];
  alignas(64) uint32_t waits[kMaxBatchOps];  // kFree: see FreeOrder
  alignas(64) Placement placements[kMaxBatchOps];
};

}  // namespace heaptape::allocators
