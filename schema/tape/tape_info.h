// What a tape says about itself: its header (written first) and its summary (written last).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/heap_remedies.h"
#include "schema/tape/event.h"
#include "schema/tape/stack_recording.h"

namespace heaptape::schema {

enum class StampClock : uint8_t { kTsc = 0, kCounter = 1 };

// Facts that another tool's trace may lack, and a recorded tape has. Stored in tapes: values never
// change.
enum class Absent : uint32_t {
  kThreads = 1 << 0,      // all calls count as one thread's
  kAddresses = 1 << 1,    // those on the tape are made up
  kAlignments = 1 << 2,   // that were asked for
  kTimes = 1 << 3,        // when calls were made
  kResizes = 1 << 4,      // a realloc is a free and an allocation, or an allocation and a free
  kEntryPoints = 1 << 5,  // all allocations are malloc's, all releases free's
  kFailures = 1 << 6,     // calls that got no block
  kSurvivors = 1 << 7,    // blocks that were alive at the end
};

inline constexpr Absent kAllAbsent[] = {Absent::kThreads,  Absent::kAddresses, Absent::kAlignments,
                                        Absent::kTimes,    Absent::kResizes,   Absent::kEntryPoints,
                                        Absent::kFailures, Absent::kSurvivors};

// "threads", "addresses", ...: as `heaptape info` and reports name it.
const char* name_of(Absent absent);

// Where the calls of a tape come from if no recorder of ours saw them: docs/howto-import.md.
struct TapeOrigin {
  std::string format;   // as `heaptape import` names it; empty: the tape was recorded
  uint32_t absent = 0;  // bits of Absent

  bool lacks(Absent what) const { return (absent & static_cast<uint32_t>(what)) != 0; }
  bool operator==(const TapeOrigin&) const = default;
};

// The names of what it lacks.
std::vector<std::string> absent_names(const TapeOrigin& origin);

// Which allocator served the recorded calls, as its library says. Empty: not known, as on tapes of
// earlier recorders and of imported traces.
struct RecordedAllocator {
  std::string family;   // "glibc", "musl", "jemalloc", "mimalloc", "tcmalloc", ...
  std::string version;  // "2.36", "5.3.0"
  std::string libc;     // of the process: "glibc 2.36", "musl"

  bool operator==(const RecordedAllocator&) const = default;
};

// "jemalloc 5.3.0", or the part of it that is known; may be empty.
std::string name_of(const RecordedAllocator& allocator);

struct TapeHeader {
  std::string writer;                     // "heaptape 0.1.0"
  std::vector<std::string> command_line;  // of the recorded process
  std::string executable;                 // absolute path
  std::string allocator;                  // path of the library that served malloc
  uint32_t pid = 0;
  uint32_t parent_pid = 0;
  uint32_t page_bytes = 0;
  uint64_t start_unix_ns = 0;
  uint64_t initial_break = 0;  // program break before the first allocation; 0 = unknown
  StampClock clock = StampClock::kTsc;
  StackRecording stacks;
  TapeOrigin origin;
  RecordedAllocator recorded_allocator;
  // "NAME=VALUE": what its environment told allocators when it began. allocator_settings.h
  std::vector<std::string> settings;

  // The family of `recorded_allocator`; if the tape does not say, that of `allocator`: see
  // malloc_family.
  std::string allocator_family() const;

  bool operator==(const TapeHeader&) const = default;
};

// The heap with which a tape begins. That of a forked process: the blocks that are live on its
// parent's tape after so many calls. A tape that was made of another one, or has the last calls
// only, carries such blocks itself. If nothing is set, the place of the fork is not known.
struct Inheritance {
  std::string tape;            // of the parent: a name in the same directory; empty: carried
  uint64_t start_unix_ns = 0;  // TapeHeader of that tape
  uint64_t events = 0;         // calls on that tape before the fork
  uint32_t thread = 0;         // that forked, there
  uint64_t blocks = 0;         // carried: so many first calls of this tape hand them out
  // Calls that were dropped, of which `blocks` are live: the call behind those blocks is the next
  // one. What else the process inherited is then not known.
  uint64_t dropped = 0;
  uint64_t first_number = 0;  // of the first call of the tape, as its chunks have it

  bool operator==(const Inheritance&) const = default;
};

// Stored in tapes: values never change.
enum class EndReason : uint8_t {
  kExited = 0,            // the process ended by itself; end_status = exit status
  kSignalled = 1,         // a signal ended it; end_status = signal number
  kReplaced = 2,          // exec put another program in its place
  kRecordingStopped = 3,  // it still ran when the recording ended
  kDiskFull = 4,          // the tape was cut short for want of room
  kRecovered = 5,         // `heaptape recover` rebuilt the end of a damaged tape
};

const char* describe(EndReason reason);

// Why calls were lost, as far as the recorder knows. Losses to a full disk, damage or a broken ring
// are not among them.
struct LossCauses {
  uint64_t ring_full = 0;         // the program was faster than the encoder or the disk
  uint64_t recorder_stopped = 0;  // the recorder made no progress for 100 ms
  uint64_t no_ring = 0;           // the thread found no ring, or could not map it
  uint64_t left_hooks = 0;     // in handlers that interrupted the allocator, or left it by a jump
  uint64_t malformed = 0;      // of an imported trace: what could not be read as a call
  uint64_t unknown_frees = 0;  // the same: of blocks that no call before handed out
  uint64_t double_frees = 0;   // the same: of blocks that had been freed just before

  bool operator==(const LossCauses&) const = default;
};

// Anything here that is not 0 was lost or doubtful: `verify` reports it. Counts of calls.
struct TapeLosses {
  uint64_t lost_events = 0;            // calls made, seen, and not recorded
  LossCauses causes;                   // of the lost events
  uint64_t unrepaired_inversions = 0;  // a block was handed out while still alive on the tape
  uint64_t lost_ranges = 0;            // damaged stretches omitted by `recover`

  bool any() const { return lost_events != 0 || unrepaired_inversions != 0 || lost_ranges != 0; }
  bool operator==(const TapeLosses&) const = default;
};

// A thread of the recorded process, as Linux knows it.
struct ThreadIdentity {
  uint32_t id = 0;   // gettid(2), as the process sees it; 0: unknown
  std::string name;  // as it was last seen; bytes, at most 15

  bool operator==(const ThreadIdentity&) const = default;
};

// A tape lists no more than its first so many threads.
inline constexpr size_t kMostThreadsListed = size_t{1} << 16;

// "332 MiB anonymous = malloc 39.0 MiB + libarrow 186 MiB + stacks 1.50 MiB + other 106 MiB", with
// up to four owners that have at least a twentieth of what is beside malloc; without owners "332
// MiB anonymous = malloc 39.0 MiB + beside malloc 293 MiB (stacks 1.50 MiB)". `malloc_bytes` is at
// most `anonymous_bytes`, `stack_bytes` at most the rest, and `owners` have at most the rest of
// that; nothing: not known. An owner that is one of the files `inner` has their heaps behind its
// name: "python3.11 (pymalloc) 33.0 MiB".
std::string memory_text(uint64_t anonymous_bytes, std::optional<uint64_t> malloc_bytes,
                        std::optional<uint64_t> stack_bytes, const std::vector<OwnedMemory>& owners,
                        const std::vector<InnerAllocator>& inner);
std::string memory_text(const ProcessSample& sample, const std::vector<InnerAllocator>& inner);

// "calls to jemalloc inside '/usr/bin/ruff' and to allocators inside 2 other files"; empty if there
// are no files.
std::string inner_calls_text(const std::vector<InnerAllocator>& files);

struct TapeSummary {
  uint64_t events = 0;
  uint64_t allocations = 0;    // calls that return a new block, failed ones included
  uint64_t frees = 0;          // calls that give up a block, NULL included
  uint64_t reallocations = 0;  // resize calls, whatever they came to
  uint64_t failed = 0;
  uint64_t threads = 0;
  TapeLosses losses;
  uint64_t repaired_inversions = 0;  // put right by the merge, nothing lost
  uint64_t unknown_frees = 0;        // of blocks that no recorded call handed out
  uint64_t nested_calls = 0;         // made by the allocator itself while it served a call
  uint64_t bootstrap_calls = 0;      // served before the real allocator was known
  uint64_t stalls = 0;               // times a thread waited for room in its ring
  uint64_t stall_ns = 0;
  uint64_t duration_ns = 0;
  // Since the tape began, where the recording began later than its program: earlier calls are not
  // on the tape.
  uint64_t late_ns = 0;
  EndReason end_reason = EndReason::kExited;
  int32_t end_status = 0;
  // The one with most anonymous memory, without regions, and with the peak_bytes of the last;
  // nothing if there was none.
  std::optional<ProcessSample> largest_sample;
  // Files with allocators inside, found in samples. Calls to those allocators are not on the tape,
  // and `losses` does not count them.
  std::vector<InnerAllocator> inner_allocators;
  // By number; in a chunk of its own. May be shorter than `threads` says.
  std::vector<ThreadIdentity> thread_list;

  bool operator==(const TapeSummary&) const = default;
};

}  // namespace heaptape::schema
