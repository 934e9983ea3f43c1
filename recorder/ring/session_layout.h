// The memory that recorded processes share with the collector. docs/architecture.md, "Recording".
// For each session there are two files that all processes map,
//
//   board: Board
//   lobby: Lobby | Notice[kNotices]
//
// and pools, each a file that one process maps (or a few, where there could not be enough):
//
//   pool: first page | words[kFirstRings][kRingWords] | block 0 | ... | block kBlocks-1 |
//         words[rings - kFirstRings][kRingWords]
//   first page: PoolHeader | PoolPart[kFirstParts], which are then missing in block 0
//   block: PoolPart[kBlockParts]
//   part I: process slot I, and ring I
//
// A pool is zero at first. A process that was executed gets one when it joins, and more, its
// spares, for the children that it forks. docs/decisions/0042-pools.md. Both ends map them, at
// different addresses, so it holds no pointers that the other end follows. Each end treats the
// other's data as hostile: it reads a value once, checks it, and uses the checked value. Free of
// the C++ run-time library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "base/address/pages.h"
#include "recorder/ring/allocator_facts.h"
#include "recorder/ring/owner_lock.h"
#include "recorder/ring/unrecorded.h"
#include "schema/tape/size_range.h"

namespace heaptape::recorder {

// Names of the files in /proc/PID/maps.
inline constexpr char kBoardName[] = "heaptape-board";
inline constexpr char kLobbyName[] = "heaptape-lobby";
inline constexpr char kPoolName[] = "heaptape-pool";
inline constexpr uint64_t kSessionMagic = 0x316e6f6973736548;  // "Hession1"
inline constexpr uint32_t kLayoutVersion = 19;

// Recorded threads of a process alive at one time: as many as Linux gives process ids by default.
// Fewer if the recorder's limits do not allow for all.
inline constexpr uint32_t kBlockParts = 1u << 10;
inline constexpr uint32_t kBlocks = 32;
inline constexpr uint32_t kRings = kBlocks * kBlockParts;
inline constexpr uint32_t kSpareRings = 1u << 11;  // of a forked process
// Most processes have no more, and touch little of their pool.
inline constexpr uint32_t kFirstParts = 5;
inline constexpr uint32_t kFirstRings = 4;
// The most pools at one time. Numbers grow; pool N is in place N modulo kPoolPlaces.
inline constexpr uint32_t kPoolPlaces = 1u << 13;
// Spares that a process has at one time.
inline constexpr uint32_t kMostSpares = 16;
inline constexpr uint32_t kRingWords = 1u << 16;    // 512 KiB: docs/decisions/0039-bulk.md
inline constexpr uint32_t kSegmentWords = 1u << 9;  // between two looks at the collector: one page
inline constexpr uint32_t kProgramBytes = 56;
inline constexpr uint32_t kThreadNameBytes = 16;  // TASK_COMM_LEN
inline constexpr uint32_t kMostStackFrames = 256;
inline constexpr uint64_t kMostStackBytes = uint64_t{1} << 40;
inline constexpr uint32_t kMostStackSizes = schema::kMostSizeRanges;
inline constexpr uint32_t kNotices = 256;
inline constexpr uint32_t kNoticePathBytes = 240;

// Everything that waits for the recorder waits this long without a sign of progress from it, and
// then goes on unrecorded. docs/decisions/0013-waits.md.
inline constexpr uint32_t kPatienceMs = 100;
// If it sees that the recorder is not stopped, but short of processors or waiting for the disk.
inline constexpr uint32_t kLongPatienceMs = 1000;

enum class Follow : uint32_t { kNone = 0, kFork = 1, kAll = 2 };
enum class OnFull : uint32_t { kBlock = 0, kDrop = 1 };
// Whether calls that map memory are recorded: schema::MappingCall.
enum class MapCalls : uint32_t { kRecorded = 0, kIgnored = 1 };
// How threads stamp their records once a process has more than one.
enum class Clock : uint32_t { kTsc = 0, kCounter = 1 };

// Whether calls are recorded now.
enum class Pause : uint32_t {
  kNone = 0,
  kBeforeStart = 1,  // they are not yet, but counted in ProcessSlot::unseen
  kBetween = 2,      // not any more, or not yet again: only settings of the allocator are
};

// How stacks are walked.
enum class Unwinding : uint32_t { kFramePointers = 0, kTables = 1 };

// Whether the thread that copies rings sleeps, which it does while none is half full.
enum class CollectorSleep : uint32_t { kAwake = 0, kAsleep = 1 };

// Where the search for a free slot or ring begins, and how far any was ever taken. Hints: late
// updates only make other searches longer.
struct Occupancy {
  std::atomic<uint32_t> lowest_free;
  std::atomic<uint32_t> high_water;  // all from here on were never taken; grows
};

// `index` is free again.
inline void lower(Occupancy& taken, uint32_t index) {
  if (index < taken.lowest_free.load(std::memory_order_relaxed)) {
    taken.lowest_free.store(index, std::memory_order_relaxed);
  }
}

// The settings of the session and the state of the recorder. A file of its own, to which recorded
// processes cannot write from Linux 5.1 on: none can say here that the recording is over.
struct alignas(64) Board {
  uint64_t magic;
  uint32_t layout_version;
  Follow follow;
  OnFull on_full;
  Clock clock;
  uint32_t stack_frames;  // to record of each stack, at most kMostStackFrames; 0: no stacks
  MapCalls map_calls;
  uint64_t ticks_per_ms;          // of the TSC; 0 if unknown
  std::atomic<uint32_t> stopped;  // 1: the session is over, record nothing more
  Unwinding unwinding;
  uint64_t network;  // inode of the recorder's network namespace; 0 if unknown
  // Sampled stacks: those of calls that ask for one byte in so many, at most kMostStackBytes; 0:
  // the stacks of all calls, or of those for `stack_sizes` if there are any.
  uint64_t stack_bytes;
  // The stacks of all calls for these sizes are recorded, whatever `stack_bytes` says of others.
  // From the first on whose `most` is 0, there are none.
  schema::SizeRange stack_sizes[kMostStackSizes];

  // Grows while the collector works, at least every 10 ms: a waiting thread sees that it lives.
  alignas(64) std::atomic<uint32_t> progress;
  std::atomic<Pause> pause;

  // A robust, process-shared pthread mutex that the collector holds while it lives. Its first word
  // is the futex word of get_robust_list(2): when the collector dies, for any reason, the kernel
  // sets FUTEX_OWNER_DIED in it.
  alignas(64) std::atomic<uint32_t> collector_lock_word;
  uint32_t collector_lock_rest[15];
};
static_assert(sizeof(Board) == 320 && alignof(Board) == 64);
static_assert(offsetof(Board, collector_lock_word) == 256);

// Written by all processes and the recorder. A hostile one can delay others here, and make the
// counts wrong, and the order of their calls where the TSC is not used.
struct alignas(64) Lobby {
  // A futex. A producer whose ring is half full wakes the thread that copies it if that sleeps.
  std::atomic<CollectorSleep> collector_sleep;

  // Grows with each claim in any pool, and with each notice, after it.
  alignas(64) std::atomic<uint32_t> claims;
  // Set by a thread that finds no free ring: the collector then frees the rings of dead threads.
  std::atomic<uint32_t> ring_wanted;
  // Processes that found no free slot and are not recorded.
  std::atomic<uint32_t> turned_away;
  // Processes forked under a system call filter, which are not recorded.
  std::atomic<uint32_t> filtered;
  // Notices dropped because the list was full.
  std::atomic<uint32_t> notices_lost;

  // Clock::kCounter: the next stamp.
  alignas(64) std::atomic<uint64_t> stamp_counter;

  // A bit for each pool in which something was claimed, by its place: the collector then looks
  // whether it is to map the pool.
  alignas(64) std::atomic<uint64_t> claimed_in[kPoolPlaces / 64];
};
static_assert(sizeof(Lobby) == 192 + kPoolPlaces / 8 && alignof(Lobby) == 64);

struct alignas(64) PoolHeader {
  // The low half of ProcessSlot::serial of the last process.
  std::atomic<uint32_t> serials;
  // Grows with each claim of a slot or ring here, after it: the collector then looks for it.
  std::atomic<uint32_t> claims;
  Occupancy slots_taken;
  Occupancy rings_taken;
};
static_assert(sizeof(PoolHeader) == 64);

enum class NoticeState : uint32_t { kFree = 0, kClaimed = 1, kReady = 2 };

// A process's message about a program that is not recorded. The collector reads it and frees it.
struct alignas(64) Notice {
  std::atomic<NoticeState> state;
  Unrecorded reason;
  // 1; or -1, which takes one back: notices precede an exec, which may fail.
  int32_t times;
  uint32_t pid;                 // of the sender, as it sees itself
  char path[kNoticePathBytes];  // of the program or library; ends in 0
};
static_assert(sizeof(Notice) == 256);

enum class SlotState : uint32_t {
  kFree = 0,     // also while its owner fills it in
  kRunning = 1,  // valid; the collector reads it
  kEnding = 2,   // the collector takes the process for dead; a thread that lives after all must
                 // join anew
};

// A thread counts so many calls by itself before it says so.
inline constexpr uint32_t kUnseenCalls = 64;

enum SlotFlags : uint32_t {
  kSlotForked = 1,  // by fork: heap and command line are the parent's
  // In another pid namespace than the collector: its thread ids, and the pid of a forked process,
  // mean nothing to the collector.
  kSlotForeignPids = 2,
};

// Owned by the thread that joined for its process. The process is dead when that thread and the
// owners of all its rings are.
struct alignas(64) ProcessSlot {
  OwnerLock lock;
  std::atomic<SlotState> state;
  uint32_t flags;
  uint32_t pid;
  // 1: its tape's file lags and the backlog is full, so nothing is copied from its rings for now.
  std::atomic<uint32_t> behind;
  // Number of the process in its session: that of the pool in the high half, and one that grows in
  // the low half.
  uint64_t serial;
  uint64_t parent_serial;               // of a forked process; 0 if none
  uint64_t initial_break;               // program break before the first allocation
  std::atomic<uint64_t> nested;         // calls the allocator made itself while serving one
  std::atomic<uint64_t> bootstrap;      // calls served before the allocator was known
  std::atomic<uint64_t> lost_ringless;  // calls of threads that found no ring
  // Calls of signal handlers that interrupted a hook, or that followed a jump out of one.
  std::atomic<uint64_t> lost_interrupted;
  // Its CodeMap, as in recorder/unwind/code_map.h; 0 if none. Written by the process when it joins
  // or closes a library, and by the collector when it knows better.
  std::atomic<uint64_t> code_map;
  std::atomic<uint32_t> code_wanted;  // grows when a stack comes through code that the map lacks
  std::atomic<uint32_t> unseen;       // calls before the start of the recording, in kUnseenCalls
  // The number in the parent's record of the fork (record.h). If processes without a slot are in
  // between, which made no call, it is that of the first of these.
  uint32_t fork;
  char program[kProgramBytes];  // as executed; ends in 0
  AllocatorFacts allocator;
};
static_assert(sizeof(ProcessSlot) == 512);

inline void clear_counts(ProcessSlot& slot) {
  for (auto* const count :
       {&slot.nested, &slot.bootstrap, &slot.lost_ringless, &slot.lost_interrupted}) {
    count->store(0, std::memory_order_relaxed);
  }
}

enum class RingState : uint32_t {
  kFree = 0,   // also while its owner fills it in
  kOwned = 1,  // valid until the collector finds its thread dead and frees it
};

// One writer, the owner of `lock`, and one reader at a time, of the collector's threads. Positions
// count words since the ring was claimed and never go back; word p is stored at p modulo
// kRingWords.
//
// - The writer stores a record's words, then `head` (release). A reader that loads `head` (acquire)
//   may read the words from `tail` up to there; no record is half there.
// - The reader stores `tail` when it is done with the words before it. The writer overwrites
//   nothing at or after `tail`: it enters a segment only once the whole segment is free.
// - A thread's records outlive it: the ring is free only when the collector says so.
// - The reader takes the memory of a thread that has long been idle, but for the segment that it is
//   in: it stores `closed`, and takes no page before `entered`. The writer stores `entered` before
//   it looks at `closed`, so one of the two sees the other; a writer that finds the ring closed
//   waits as if it were full.
// - A hostile writer can put anything anywhere in here, at any time. At worst the collector gives
//   up on its ring, or writes calls on the tape of its process that were never made. It cannot make
//   the collector read elsewhere or wait. (recorder/collector/ring_tap.h)
struct alignas(64) RingHeader {
  // Written by the producer for every record, after the record.
  std::atomic<uint64_t> head;
  // The block that a resize under way may have given up already; 0 if none. Stored before the call,
  // cleared after its record is published.
  std::atomic<uint64_t> resizing;
  // Where the segment ends that the producer writes to, or wants to.
  std::atomic<uint64_t> entered;
  // The processor on which it entered that segment, from 1; 0: not known.
  std::atomic<uint32_t> processor;
  uint32_t padding;
  uint64_t padding0[4];

  // Written by the collector when it has copied. `space` is a futex that the collector increments
  // and wakes while the producer has `producer_waits` set.
  alignas(64) std::atomic<uint64_t> tail;
  std::atomic<uint32_t> space;
  std::atomic<uint32_t> producer_waits;
  uint64_t padding1[6];

  // Written by the producer when it claims the ring.
  alignas(64) OwnerLock lock;
  std::atomic<RingState> state;
  std::atomic<uint32_t> process_slot;  // written again while owned, if its process joins anew
  std::atomic<uint64_t> process_serial;
  std::atomic<uint32_t> thread_id;  // as the thread sees itself
  // Written by the collector: 1 while it takes pages from the ring, which takes microseconds.
  std::atomic<uint32_t> closed;

  // Written by the producer when it waits or loses a call; cleared by the collector when it frees
  // the ring.
  alignas(64) std::atomic<uint64_t> lost_full;  // calls for which the ring had no room
  std::atomic<uint64_t> lost_stopped;           // while the recorder made no progress
  std::atomic<uint64_t> stalls;                 // waits for room
  std::atomic<uint64_t> stall_ns;
  // Written by the producer when it claims the ring.
  char thread_name[kThreadNameBytes];  // as it was then; ends in 0
  // The thread control block, which glibc and musl put at the top of the stacks that they make; 0:
  // of the first thread.
  std::atomic<uint64_t> thread_block;
  uint64_t padding3;
};
static_assert(sizeof(RingHeader) == 256);

inline void clear_counts(RingHeader& ring) {
  for (auto* const count : {&ring.lost_full, &ring.lost_stopped, &ring.stalls, &ring.stall_ns}) {
    count->store(0, std::memory_order_relaxed);
  }
}

// A slot for a process and a ring for a thread, which have nothing to do with each other.
struct PoolPart {
  ProcessSlot slot;
  RingHeader ring;
};
static_assert(sizeof(PoolPart) == sizeof(ProcessSlot) + sizeof(RingHeader));

// Offsets in the files.
using base::kPageBytes;
using base::page_up;

inline constexpr uint64_t kBoardBytes = kPageBytes;
static_assert(sizeof(Board) <= kBoardBytes);

inline constexpr uint64_t kNoticesOffset = sizeof(Lobby);
inline constexpr uint64_t kLobbyBytes = page_up(kNoticesOffset + kNotices * sizeof(Notice));

inline constexpr uint64_t kRingBytes = uint64_t{kRingWords} * sizeof(uint64_t);
inline constexpr uint64_t kFirstPartsOffset = sizeof(PoolHeader);
static_assert(kFirstPartsOffset + kFirstParts * sizeof(PoolPart) <= kPageBytes);
inline constexpr uint64_t kFirstWordsOffset = kPageBytes;
// The part that a process maps when it takes the pool.
inline constexpr uint64_t kJoinBytes = kFirstWordsOffset + kFirstRings * kRingBytes;
inline constexpr uint64_t kBlocksOffset = kJoinBytes;
inline constexpr uint64_t kBlockBytes = page_up(kBlockParts * sizeof(PoolPart));
inline constexpr uint64_t kMoreWordsOffset = kBlocksOffset + kBlocks * kBlockBytes;
constexpr uint64_t words_offset(uint32_t ring) {
  return ring < kFirstRings ? kFirstWordsOffset + ring * kRingBytes
                            : kMoreWordsOffset + (ring - kFirstRings) * kRingBytes;
}
// `rings` is more than kFirstRings.
constexpr uint64_t pool_bytes(uint32_t rings) {
  return words_offset(rings);
}

// The beginning of a pool in a process, or all of it in the collector. A process maps more when it
// needs it (recorder/interposer/session_map.h): all of it, gigabytes, would count against the
// program's limit on address space, and mlockall(2) would fill it. Owns nothing.
struct PoolView {
  enum class Mapped : bool { kBeginning, kWhole };

  char* base = nullptr;
  uint32_t number = 0;
  uint32_t rings = 0;
  Mapped mapped = Mapped::kBeginning;
};

// The parts of a session that a process works with, or the collector for a process. Owns nothing.
class SessionView {
 public:
  constexpr SessionView() = default;
  SessionView(Board& board, void* lobby, const PoolView& pool)
      : board_(&board), lobby_(static_cast<char*>(lobby)), pool_(pool) {}

  bool valid() const { return board_ != nullptr; }
  // Read-only in recorded processes.
  Board& board() const { return *board_; }
  Lobby& lobby() const { return *reinterpret_cast<Lobby*>(lobby_); }
  Notice& notice(uint32_t index) const {
    return reinterpret_cast<Notice*>(lobby_ + kNoticesOffset)[index];
  }

  const PoolView& pool() const { return pool_; }
  void set_pool(const PoolView& pool) { pool_ = pool; }
  // In the pool, which has as many slots.
  uint32_t rings() const { return pool_.rings; }
  PoolHeader& header() const { return *reinterpret_cast<PoolHeader*>(pool_.base); }
  // Whether more than the beginning is mapped, which process(), ring() and words() require.
  bool is_whole() const { return pool_.mapped == PoolView::Mapped::kWhole; }
  PoolPart& part(uint32_t index) const {
    return index < kFirstParts
               ? reinterpret_cast<PoolPart*>(pool_.base + kFirstPartsOffset)[index]
               : part_in(pool_.base + kBlocksOffset + index / kBlockParts * kBlockBytes, index);
  }
  // In the block that holds it.
  static PoolPart& part_in(char* block, uint32_t index) {
    return reinterpret_cast<PoolPart*>(block)[index % kBlockParts];
  }
  ProcessSlot& process(uint32_t index) const { return part(index).slot; }
  RingHeader& ring(uint32_t index) const { return part(index).ring; }
  uint64_t* words(uint32_t index) const {
    return reinterpret_cast<uint64_t*>(pool_.base + words_offset(index));
  }

 private:
  Board* board_ = nullptr;
  char* lobby_ = nullptr;
  PoolView pool_;
};

// Something was claimed in the pool of `session`: the collector is to look.
inline void announce_claim(const SessionView& session) {
  session.header().claims.fetch_add(1);
  const uint32_t place = session.pool().number % kPoolPlaces;
  session.lobby().claimed_in[place / 64].fetch_or(uint64_t{1} << place % 64);
  session.lobby().claims.fetch_add(1);
}

}  // namespace heaptape::recorder
