// The verdict on a replay, and what to do: ranked findings about one run at one moment.
// docs/metrics.md, "The verdict".
#pragma once

#include <cstdint>
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

struct JudgedState {
  std::string moment;  // "peak", "plateau", "exit"
  uint64_t at = 0;     // after so many calls
  Account account;
  std::span<const PinnedBy> pins = {};  // as rank_culprits() does
};

// The uncertainty of predicted resident bytes: a share of them, and bytes.
struct PredictionError {
  double share = 0;
  uint64_t bytes = 0;

  uint64_t of(uint64_t resident_bytes) const;
};

struct JudgedRun {
  std::string label;
  std::string family;   // "glibc"; empty if unknown
  std::string library;  // a file for LD_PRELOAD; empty if there is none
  RunRole role = RunRole::kCandidate;
  PredictionError error = {};
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
  kPurged,     // the same once that has given back what it can
  kSlack,      // what blocks have beyond the request
  kCaches,     // kept ready for reuse
  kMetadata,   // the allocator's own
  kUnseen,     // from before the recording
  kLive,       // most is live
  kNothing,    // nothing of the above would give back more than the prediction's error
  kNoBetter,   // the same for other allocators alone
};

struct Finding {
  FindingKind kind = FindingKind::kNothing;
  uint64_t bytes = 0;        // resident, that it is about
  uint64_t error_bytes = 0;  // of `bytes`, for predictions
  PinnedBy pins = {};        // of kHoles; no blocks: not known
  std::string site = "";     // that asked for most of these blocks, or live bytes; empty: not known
  double site_share = 0;     // of the live bytes
  std::string allocator = "";    // of kAllocator and kPurged, its label; of others, "a, b, c"
  std::string family = "";       // its family, if that is known
  std::string library = "";      // its file, likewise
  uint64_t allocator_bytes = 0;  // resident there
  uint64_t purged_bytes = 0;     // once it has given back what it can
  BesideMalloc beside = {};
};

struct Verdict {
  std::string run = "";  // label; empty: no run with memory of its own finished
  std::string family = "";
  RunRole role = RunRole::kCandidate;
  std::string moment = "";
  uint64_t held_bytes = 0;  // resident in the heap
  uint64_t live_bytes = 0;  // requested
  std::vector<Finding> findings = {};
};

// About the run that is nearest to the recorded one, at the moment at which it holds most beyond
// live bytes. Findings with less than a twentieth of what it holds, or 64 KiB, are not worth a
// sentence; an allocator is better if it holds less by more than either prediction may be wrong.
// First what is beside malloc, then what gives memory back or keeps it, most bytes first; but holes
// come before what gives back less than twice as much, because they are the cause.
Verdict judge(const BesideMalloc& beside, std::span<const JudgedRun> runs);

// Sentences, without a line end. ASCII but for names. `tape` is the file to name in commands.
std::string headline(const Verdict& verdict);
std::string evidence(const Verdict& verdict, const Finding& finding);
// In commands of reports and pages, which outlive the tape's path.
inline constexpr const char* kSomeTape = "TAPE";
// A clause on what to do; may be empty.
std::string action(const Verdict& verdict, const Finding& finding, const std::string& tape);

// "besideMalloc"; the name in reports.
const char* kind_name(FindingKind kind);

}  // namespace heaptape::replayer
