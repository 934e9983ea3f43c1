// The memory that recorded processes share with the collector. docs/architecture.md, "Recording".
// There is one for each session:
//
//   SessionHeader | ProcessSlot[kProcessSlots] | RingHeader[kRings] | words[kRings][kRingWords]
//
// Both ends map it, at different addresses, so it holds no pointers. Each end treats what the other
// wrote as hostile: it reads a value once, checks it, and uses what it checked. Free of the C++
// run-time library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/address/pages.h"

namespace heaptape::recorder {

inline constexpr uint64_t kSessionMagic = 0x316e6f6973736548;  // "Hession1"
inline constexpr uint32_t kLayoutVersion = 2;

inline constexpr uint32_t kProcessSlots = 1024;     // recorded processes alive at one time
inline constexpr uint32_t kRings = 4096;            // recorded threads alive at one time
inline constexpr uint32_t kRingWords = 1u << 14;    // 128 KiB: see docs/benchmarks.md
inline constexpr uint32_t kSegmentWords = 1u << 9;  // between two looks at the collector
inline constexpr uint32_t kAllocatorPathBytes = 256;

enum class Follow : uint32_t { kNone = 0, kFork = 1, kAll = 2 };
enum class OnFull : uint32_t { kBlock = 0, kDrop = 1 };
// How threads stamp their records once a process has more than one.
enum class Clock : uint32_t { kTsc = 0, kCounter = 1 };

// Whether the collector sleeps, as it does while all rings are empty.
enum class CollectorSleep : uint32_t { kAwake = 0, kAsleep = 1 };

struct alignas(64) SessionHeader {
  uint64_t magic;
  uint32_t layout_version;
  Follow follow;
  OnFull on_full;
  Clock clock;
  std::atomic<uint32_t> stopped;  // 1: the session is over, record nothing more
  uint32_t padding0[9];

  // A futex. A producer whose ring is half full wakes the collector if it sleeps.
  alignas(64) std::atomic<CollectorSleep> collector_sleep;

  // Grows with each claim of a process slot or ring: the collector then looks for it.
  alignas(64) std::atomic<uint32_t> claims;
  // Set by a thread that finds no free ring: the collector then frees the rings of dead threads.
  std::atomic<uint32_t> ring_wanted;
  // Processes that found no free slot and are not recorded.
  std::atomic<uint32_t> turned_away;
  // ProcessSlot::serial of the last process.
  std::atomic<uint64_t> serials;

  // Clock::kCounter: the next stamp.
  alignas(64) std::atomic<uint64_t> stamp_counter;

  // A robust, process-shared pthread mutex that the collector holds while it lives. Its first word
  // is the futex word of get_robust_list(2): when the collector dies, however that happens, the
  // kernel sets FUTEX_OWNER_DIED in it.
  alignas(64) std::atomic<uint32_t> collector_lock_word;
  uint32_t collector_lock_rest[15];
};
static_assert(sizeof(SessionHeader) == 320 && alignof(SessionHeader) == 64);
static_assert(offsetof(SessionHeader, collector_lock_word) == 256);

enum class SlotState : uint32_t {
  kFree = 0,
  kClaimed = 1,  // being filled in by its process
  kRunning = 2,  // valid; the collector reads it
};

enum SlotFlags : uint32_t {
  kSlotForked = 1,  // by fork: heap and command line are the parent's
  // In a pid namespace that is not the collector's: its thread ids, and the pid of a forked
  // process, mean nothing to the collector.
  kSlotForeignPids = 2,
};

struct alignas(64) ProcessSlot {
  std::atomic<SlotState> state;
  uint32_t flags;
  uint32_t pid;
  uint32_t padding0;
  uint64_t serial;                           // number of the process in its session, from 1
  uint64_t parent_serial;                    // of a forked process; 0: none
  uint64_t initial_break;                    // program break before the first allocation
  std::atomic<uint64_t> nested;              // calls the allocator made itself while it served one
  std::atomic<uint64_t> bootstrap;           // calls served before the allocator was known
  std::atomic<uint64_t> lost;                // calls that found no ring to be recorded in
  char allocator_path[kAllocatorPathBytes];  // library that serves malloc; ends in 0
};
static_assert(sizeof(ProcessSlot) == 64 + kAllocatorPathBytes);

enum class RingState : uint32_t {
  kFree = 0,
  kClaimed = 1,  // being filled in by its thread
  kOwned = 2,    // valid until the collector finds its thread gone and frees it
};

// One writer, the thread `tid`, and one reader, the collector. Positions count words since the ring
// was claimed and never go back; word p is stored at p modulo kRingWords.
//
// - The writer stores a record's words, then `head` (release). A reader that loads `head` (acquire)
//   may read the words from `tail` up to there; no record is half there.
// - The reader stores `tail` when it is done with the words before it. The writer overwrites
//   nothing at or after `tail`: it enters a segment only once the whole segment is free.
// - What a thread has logged outlives it: the ring is free only when the collector says so.
// - A hostile writer can put anything anywhere in here, at any time. At worst the collector
//   gives up on its ring, or writes calls on the tape of its process that were never made. It
//   cannot make the collector read elsewhere or wait. (recorder/collector/ring_cursor.h)
struct alignas(64) RingHeader {
  // Written by the producer for every record, after the record.
  std::atomic<uint64_t> head;
  uint64_t padding0[7];

  // Written by the collector, a few times a drain. `space` is a futex that the collector increments
  // and wakes while `producer_waits` is set, which the producer does.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint32_t> space;
  std::atomic<uint32_t> producer_waits;

  // Written by the producer when it claims the ring, waits or loses a call; cleared by the
  // collector when it frees the ring.
  alignas(64) std::atomic<RingState> state;
  uint32_t process_slot;
  uint32_t tid;
  uint32_t padding1;
  std::atomic<uint64_t> lost;    // calls not recorded for lack of room
  std::atomic<uint64_t> stalls;  // waits for room
  std::atomic<uint64_t> stall_ns;
};
static_assert(sizeof(RingHeader) == 192);

// Offsets of the parts in the mapping.
using base::kPageBytes;
using base::page_up;

inline constexpr uint64_t kProcessSlotsOffset = page_up(sizeof(SessionHeader));
inline constexpr uint64_t kRingHeadersOffset =
    page_up(kProcessSlotsOffset + kProcessSlots * sizeof(ProcessSlot));
inline constexpr uint64_t kRingWordsOffset =
    page_up(kRingHeadersOffset + kRings * sizeof(RingHeader));
inline constexpr uint64_t kRingBytes = uint64_t{kRingWords} * sizeof(uint64_t);
inline constexpr uint64_t kSessionHeadersBytes = kRingWordsOffset;
inline constexpr uint64_t kSessionBytes = kRingWordsOffset + kRings * kRingBytes;

// The parts of a mapped session. The collector maps all of it. A recorded process maps the headers,
// and each ring when one of its threads claims it: all of it, half a gigabyte, would count against
// the program's limit on address space, and mlockall(2) would fill it. Owns nothing.
class SessionView {
 public:
  constexpr SessionView() = default;
  SessionView(void* base, uint64_t mapped_bytes)
      : base_(static_cast<char*>(base)), is_whole_(mapped_bytes == kSessionBytes) {}

  bool valid() const { return base_ != nullptr; }
  char* base() const { return base_; }
  SessionHeader& header() const { return *reinterpret_cast<SessionHeader*>(base_); }
  ProcessSlot& process(uint32_t index) const {
    return reinterpret_cast<ProcessSlot*>(base_ + kProcessSlotsOffset)[index];
  }
  RingHeader& ring(uint32_t index) const {
    return reinterpret_cast<RingHeader*>(base_ + kRingHeadersOffset)[index];
  }
  bool is_whole() const { return is_whole_; }
  // Requires is_whole().
  uint64_t* words(uint32_t index) const {
    return reinterpret_cast<uint64_t*>(base_ + kRingWordsOffset + index * kRingBytes);
  }

 private:
  char* base_ = nullptr;
  bool is_whole_ = false;
};

}  // namespace heaptape::recorder
