// The verdict on a replay: ranked findings about one run at one moment. docs/metrics.md, "The
// verdict". Their sentences are in replayer/report/verdict_text.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replayer/answers/account.h"
#include "replayer/answers/pins.h"

namespace heaptape::replayer {

// How a run is related to the recorded one.
enum class RunRole : uint8_t {
  kRecorded,   // the recorded run itself
  kFaithful,   // a replay on its allocator, with the blocks where they were
  kSame,       // a replay on its allocator; where blocks were is not known, or they were elsewhere
  kCandidate,  // another allocator, or other settings
};

// How an allocator is called, and how it can be tried.
struct Allocator {
  std::string label = "";
  std::string spec = "";      // for -a
  std::string family = "";    // "glibc"; empty if unknown
  std::string library = "";   // a file for LD_PRELOAD; empty if there is none
  std::string settings = "";  // NAME=VALUE, separated by blanks, or those of a model
};

struct JudgedState {
  std::string moment;  // "peak", "plateau", "exit"
  uint64_t at = 0;     // after so many calls
  Account account;
  std::optional<PinnedBy> pins = {};  // main_culprit()
  // The resident bytes that a prediction may be wrong by; 0 if they are none.
  uint64_t error_bytes = 0;
};

struct JudgedRun {
  Allocator allocator;
  RunRole role = RunRole::kCandidate;
  std::vector<JudgedState> states = {};
};

// Memory of the process that no allocator of malloc can change.
struct BesideMalloc {
  uint64_t bytes = 0;  // 0: too little to speak of, or not known
  std::string text = "";
  std::vector<std::string> remedies = {};
  bool is_most = false;  // malloc has less than half of the process
};

enum class FindingKind : uint8_t {
  kBesideMalloc,
  kHoles,      // free between live blocks
  kTrim,       // malloc_trim(0) would give it back
  kPurge,      // the same for the call of another allocator
  kAllocator,  // another allocator would hold so much less
  kPurged,     // the same if both gave back all that they can
  kSlack,      // usable bytes of blocks beyond those requested
  kCaches,     // kept ready for reuse
  kMetadata,   // the allocator's own
  kUnseen,     // from before the recording
  kLive,       // most is live
  kNothing,    // there is no other finding, and no better allocator
  kNoBetter,   // there is no better allocator
};

struct Finding {
  FindingKind kind = FindingKind::kNothing;
  uint64_t bytes = 0;                 // resident, that it is about
  uint64_t error_bytes = 0;           // of kAllocator and kPurged: of their prediction
  std::optional<PinnedBy> pins = {};  // of kHoles, if known
  std::string site = "";              // that asked for most of these, or of what is live
  double site_share = 0;              // of them
  // For kAllocator and kPurged; for kNoBetter one that may be better, but not beyond the error.
  std::optional<Allocator> allocator = {};
  uint64_t allocator_bytes = 0;            // resident there
  uint64_t purged_bytes = 0;               // once it has given back all that it can
  std::vector<std::string> compared = {};  // of kNothing and kNoBetter: labels of the others
  BesideMalloc beside = {};
};

struct Verdict {
  Allocator run = {};  // without a label: no run with memory of its own finished
  RunRole role = RunRole::kCandidate;
  std::string moment = "";
  uint64_t at = 0;               // after so many calls
  uint64_t held_bytes = 0;       // resident in the heap
  uint64_t live_bytes = 0;       // of these: requested, and touched as far as known
  uint64_t untouched_bytes = 0;  // live, not resident
  uint64_t end_live_bytes = 0;   // live at the end of the tape; 0 if not known
  double error_share = 0;        // of resident bytes, that predictions may be wrong by at least
  bool began_late = false;       // blocks from before the recording are not counted as live
  bool can_be_recorded = false;  // the tape is of a program, not imported
  std::vector<Finding> findings = {};

  bool has(FindingKind kind) const;
  // At least seven tenths are live, and no other allocator would or may hold less.
  bool has_little_to_gain() const;
};

// Whether allocators are compared: not where their resident bytes say nothing.
enum class Compare : bool { kNo, kYes };

// About the run that is nearest to the recorded one, at the moment at which it holds most beyond
// live bytes. Findings with less than a twentieth of what it holds, or 64 KiB, are not worth a
// sentence; an allocator is better if it holds so much less, and by more than either prediction may
// be wrong; what it could give back counts from a fifth on. Then what gives memory back or keeps
// it, most bytes first; but holes rank as if they had twice as many, because they are the cause.
// Memory beside malloc comes first if it is most of the process, else second.
Verdict judge(const BesideMalloc& beside, std::span<const JudgedRun> runs, Compare compare);

// "besideMalloc"; the name in reports.
const char* kind_name(FindingKind kind);

}  // namespace heaptape::replayer
