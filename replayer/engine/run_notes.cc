#include "replayer/engine/run_notes.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <string_view>

#include "allocators/catalog/allocator_family.h"
#include "allocators/catalog/setting_notes.h"
#include "base/address/pages.h"
#include "base/name_list.h"
#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using allocators::BackendSpec;

constexpr uint64_t kNotedPercent = 10;  // less is not worth a note
constexpr double kFaithfulShare = 0.99;

std::string merged_note(const BackendSpec& spec, const TapeFacts& tape) {
  const std::string threads = base::grouped(tape.threads()) + " threads";
  if (!spec.runs_real_code()) return "treats the calls of " + threads + " as one thread's";
  return threads + " merged: per-thread caches and arenas are not simulated; memory is understated";
}

void add_native_notes(const BackendSpec& spec, const RunFacts& run, const TapeFacts& tape,
                      std::vector<std::string>& notes) {
  using allocators::CallingThreads;
  if (run.touch == allocators::Touch::kNone) {
    notes.push_back("no block was touched: resident figures mean nothing");
  }
  if (run.clock == allocators::Clock::kReal && spec.sees_time()) {
    notes.emplace_back(
        "the clock was the replay's: memory is returned at other times than in the program");
  }
  if (run.threads == "free") {
    notes.emplace_back("threads ran at the same time: holes and slack are unknown");
  }
  const bool on_several = tape.threads() > 1 && run.threads != "merged";
  std::ranges::move(
      allocators::setting_notes(
          spec.family(),
          run.settings.environment.empty() ? spec.environment : run.settings.environment,
          on_several ? CallingThreads::kSeveral : CallingThreads::kOne),
      std::back_inserter(notes));
}

bool is_much(uint64_t part, uint64_t whole) {
  return part != 0 && 100 * part >= kNotedPercent * whole;
}

// Empty where large blocks are a small part of what is resident.
std::string large_blocks_note(const RunFacts& run, const TapeFacts& tape) {
  std::string where;
  if (is_much(tape.large_bytes_at_peak(), run.resident_bytes_peak)) {
    where = base::bytes_text(tape.large_bytes_at_peak()) + " at the peak";
  }
  if (is_much(tape.large_bytes_at_end(), run.resident_bytes_at_end)) {
    where += (where.empty() ? "" : " and ") + base::bytes_text(tape.large_bytes_at_end()) +
             " at the end";
  }
  if (where.empty()) return "";
  return where +
         " are in blocks of 128 KiB or more: their pages that the program never wrote are resident "
         "only here";
}

// The allocator sees the time of the tape, and that has none.
bool time_stands_still(const BackendSpec& spec, const RunFacts& run, const TapeFacts& tape) {
  const bool by_tape = !spec.runs_real_code() || run.clock == allocators::Clock::kTape;
  return by_tape && !tape.has_times();
}

// What would make the live program differ from its replay, whatever the allocator.
void add_program_notes(const BackendSpec& spec, const RunFacts& run, const TapeFacts& tape,
                       std::vector<std::string>& notes) {
  if (run.touch != allocators::Touch::kNone) {
    if (std::string note = large_blocks_note(run, tape); !note.empty())
      notes.push_back(std::move(note));
  }
  if (tape.foreign_percent() >= kNotedPercent) {
    notes.push_back(std::to_string(tape.foreign_percent()) +
                    " % of freed blocks came from another thread: the timing of threads may differ "
                    "between runs of the program, and so may its memory");
  }
  if (spec.family() == "jemalloc" && !purges_at_once(spec) && !time_stands_still(spec, run, tape) &&
      is_much(run.purged_bytes, run.resident_bytes_peak)) {
    notes.push_back(base::bytes_text(run.purged_bytes) +
                    " were purged as time passed, partly by chance: a faster or slower run purges "
                    "other amounts");
  }
  const bool is_faithful = run.same_offset_share >= kFaithfulShare;
  if (tape.threads() > 1 && !is_faithful && why_incomparable(spec, run, tape).empty()) {
    notes.emplace_back(
        "blocks lie elsewhere where threads ran at the same time: a tape records the order of "
        "their calls, not of the allocator's locks");
  }
}

// "5.3.0" of "5.3.0-0-g54eaed1d".
std::string_view release_of(std::string_view version) {
  return version.substr(0, version.find_first_of("-+ "));
}

// A model of one release stands in for another, as far as the tape tells. For glibc, the version
// that the program ran with counts, even if another library served its malloc.
std::string modelled_version_note(const BackendSpec& spec, const TapeFacts& tape) {
  const std::string modelled = spec.modelled_version();
  if (modelled.empty()) return "";
  const std::string family = spec.family();
  const std::string name = family + " " + modelled;
  const schema::RecordedAllocator& recorded = tape.recorded();
  std::string other;
  if (family == "glibc") {
    other = recorded.libc;
  } else if (recorded.family == family && !recorded.version.empty()) {
    other = family + " " + std::string(release_of(recorded.version));
  }
  if (other.empty() || other == name) return "";
  return "models " + name + ", and the tape was recorded on " + other +
         ", which may place blocks differently and use a different amount of memory";
}

// Another release of the recorded allocator replays the tape.
std::string other_version_note(const BackendSpec& spec, const RunFacts& run,
                               const TapeFacts& tape) {
  const schema::RecordedAllocator& recorded = tape.recorded();
  if (recorded.family != spec.family() || recorded.version.empty() || run.library_version.empty() ||
      recorded.version == run.library_version) {
    return "";
  }
  return "the tape was recorded on " + recorded.family + " " + recorded.version + ", and " +
         run.library_version + " replays it: blocks may lie elsewhere";
}

void add_version_note(const BackendSpec& spec, const RunFacts& run, const TapeFacts& tape,
                      std::vector<std::string>& notes) {
  std::string note = spec.runs_real_code() ? other_version_note(spec, run, tape)
                                           : modelled_version_note(spec, tape);
  if (!note.empty()) notes.push_back(std::move(note));
}

// "2 calls of mallopt, 1 of malloc_trim"
std::string calls_text(const SteeringCounts::Counts& counts) {
  std::vector<std::string> parts;
  for (const auto& [op, count] : counts) {
    const std::string number = parts.empty() ? base::counted(count, "call") : base::grouped(count);
    parts.push_back(number + " of " + schema::steering_info(op).name);
  }
  return base::name_list(parts);
}

void add_steering_notes(const RunFacts& run, const TapeFacts& tape,
                        std::vector<std::string>& notes) {
  using allocators::SteeringOutcome;
  const bool is_off = run.steer == allocators::Steer::kOff;
  if (is_off && !tape.steering().empty()) {
    notes.push_back(calls_text(tape.steering()) +
                    " steered the recorded allocator: omitted (--steer off)");
  }
  if (const auto& counts = run.steering.of(SteeringOutcome::kCounterpart); !counts.empty()) {
    notes.push_back(
        calls_text(counts) +
        " steered the recorded allocator: replaced by this one's own call to give memory "
        "back");
  }
  if (const auto& counts = run.steering.of(SteeringOutcome::kIgnored); !counts.empty()) {
    notes.push_back(calls_text(counts) +
                    " steered the recorded allocator: omitted, because this one has no such call");
  }
  if (const auto& counts = run.steering.of(SteeringOutcome::kRefused); !counts.empty()) {
    notes.push_back(calls_text(counts) +
                    " steered the recorded allocator: omitted, because that cannot be done here");
  }
  if (!run.settings.obeyed.empty()) {
    notes.push_back("with the settings of the recorded run: " +
                    base::name_list(run.settings.obeyed));
  }
  if (!run.settings.left_out.empty()) {
    notes.push_back("without settings of the recorded run" +
                    std::string(is_off ? " (--steer off): " : ", which do not apply here: ") +
                    base::name_list(run.settings.left_out));
  }
}

// What a run lacks because the recording began later than its program.
std::string late_note(const BackendSpec& spec, const TapeFacts& tape) {
  const bool is_recorded = spec.kind == allocators::BackendKind::kRecorded;
  std::string text = "the recording began " +
                     base::duration_text(static_cast<double>(tape.late_ns())) +
                     " after the program: ";
  text += is_recorded ? "memory from before is unseen until a call hands it out"
                      : "blocks from before are missing here";
  if (tape.unknown_frees() != 0) {
    text += "; " + base::counted(tape.unknown_frees(), "free") + " of such blocks" +
            (is_recorded ? "" : " omitted");
  }
  if (tape.unknown_resizes() != 0) {
    text += "; " + base::counted(tape.unknown_resizes(), "resize") +
            " of such blocks counted as allocations";
  }
  return text;
}

// A note if the tape lacks earlier blocks: that of a forked child without its parent's tape, or one
// that began late.
std::string unseen_note(const BackendSpec& spec, const TapeFacts& tape) {
  std::string what;
  if (tape.late_ns() != 0) {
    return late_note(spec, tape);
  }
  if (!tape.inherited_problem().empty()) {
    what = tape.inherited_problem() + ": ";
  } else if (tape.unknown_frees() != 0) {
    what = base::counted(tape.unknown_frees(), "free") +
           (tape.unknown_frees() == 1 ? " is of a block" : " are of blocks") +
           " from before the tape: ";
  } else {
    return "";
  }
  return what + (spec.kind == allocators::BackendKind::kRecorded
                     ? "the memory of blocks from before counts as holes"
                     : "blocks from before are missing here");
}

uint64_t percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0
                    : static_cast<uint64_t>(std::llround(100.0 * static_cast<double>(part) /
                                                         static_cast<double>(whole)));
}

}  // namespace

bool purges_at_once(const BackendSpec& spec) {
  constexpr std::string_view kName = "dirty_decay_ms";
  std::vector<std::string> texts = spec.environment;
  texts.push_back(spec.text);
  return std::ranges::any_of(texts, [kName](std::string_view text) {
    const size_t at = text.find(kName);
    if (at == text.npos) return false;
    const std::string_view value = text.substr(at + kName.size());  // ":0,...", "=0", or nothing
    const bool is_zero = value.size() > 1 && value[1] == '0';
    return is_zero &&
           (value.size() == 2 || std::isdigit(static_cast<unsigned char>(value[2])) == 0);
  });
}

uint64_t purged_bytes(const std::vector<allocators::Counter>& counters) {
  uint64_t pages = 0;
  for (const allocators::Counter& counter : counters) {
    if (counter.name == "jemallocPurgedPages" || counter.name == "pagesPurged") {
      pages += counter.value;
    }
  }
  return pages * base::kPageBytes;
}

TapeFacts::TapeFacts(const schema::TapeHeader& header)
    : recorded_(header.recorded_allocator), origin_(header.origin) {
  recorded_.family = allocators::allocator_family(header);
}

void TapeFacts::note(const schema::EventBatch& batch) {
  for (const schema::Event& event : batch.events) threads_ = std::max(threads_, event.thread + 1);
  has_thread_ends_ |= !batch.thread_ends.empty();
  has_times_ |= !batch.times.empty();
  has_process_samples_ |= !batch.samples.empty();
  for (const schema::SteeringCall& call : batch.steering) ++steering_[call.op];
}

void TapeFacts::note(const SlotResolver& resolver) {
  const LiveMetrics& live = resolver.live();
  large_bytes_at_peak_ = live.large_bytes_at_peak();
  large_bytes_at_end_ = live.large_bytes();
  foreign_percent_ = percent(resolver.foreign_releases(), resolver.releases());
  unknown_frees_ = resolver.skipped().unknown_frees;
  unknown_resizes_ = resolver.skipped().unknown_resizes;
}

KnownResident known_resident(const BackendSpec& spec, const TapeFacts& tape) {
  if (spec.kind != allocators::BackendKind::kRecorded) return KnownResident::kPages;
  if (!tape.has_process_samples()) return KnownResident::kNothing;
  return tape.family() == "glibc" ? KnownResident::kHoles : KnownResident::kSum;
}

std::vector<std::string> run_notes(const BackendSpec& spec, const RunFacts& run,
                                   const TapeFacts& tape) {
  using allocators::BackendKind;
  std::vector<std::string> notes;
  if (spec.kind != BackendKind::kNoop) {
    if (std::string note = unseen_note(spec, tape); !note.empty()) notes.push_back(std::move(note));
  }
  const KnownResident resident = known_resident(spec, tape);
  if (resident == KnownResident::kSum) {
    notes.emplace_back(
        "which pages are resident is not on the tape: the allocator may have given free ones back");
  }
  if (resident == KnownResident::kNothing) {
    notes.emplace_back(tape.origin().format.empty()
                           ? "the process was never sampled: resident sizes are not on this tape"
                           : "resident sizes are not in this trace");
  }
  if (spec.kind == BackendKind::kRecorded || spec.kind == BackendKind::kNoop) return notes;
  if (tape.carried_blocks() != 0) {
    notes.push_back("the first " + base::counted(tape.carried_blocks(), "call") +
                    " stand for blocks from before this tape begins: holes from then are missing");
  }
  add_version_note(spec, run, tape, notes);
  add_steering_notes(run, tape, notes);
  if (tape.threads() > 1) {
    if (run.threads == "merged") {
      notes.push_back(merged_note(spec, tape));
    } else if (!tape.has_thread_ends()) {
      notes.emplace_back("no thread ends in these calls: caches and arenas of threads stay");
    }
  }
  if (spec.sees_time() && time_stands_still(spec, run, tape)) {
    notes.emplace_back(tape.origin().lacks(schema::Absent::kTimes)
                           ? "nothing decays: times are not in this trace"
                           : "nothing decays: the tape has no times");
  }
  if (tape.origin().lacks(schema::Absent::kSurvivors)) {
    notes.emplace_back(
        "blocks that were not freed are not in this trace: live bytes are understated");
  }
  if (tape.origin().lacks(schema::Absent::kThreads)) {
    notes.emplace_back("threads are not in this trace: all calls count as one thread's");
  }
  if (spec.runs_real_code()) add_native_notes(spec, run, tape, notes);
  add_program_notes(spec, run, tape, notes);
  return notes;
}

std::string why_incomparable(const BackendSpec& spec, const RunFacts& run, const TapeFacts& tape) {
  if (tape.origin().lacks(schema::Absent::kAddresses)) return "addresses are not in this trace";
  const std::string family = spec.family();
  if (!family.empty() && !tape.family().empty()) {
    if (family != tape.family()) {
      return "recorded on " + tape.family() + ": addresses not comparable with " + family + "'s";
    }
    if (run.threads == "free") {
      return "threads ran at the same time: addresses differ from run to run";
    }
    if (run.threads == "merged" && tape.threads() > 1) {
      return base::grouped(tape.threads()) + " threads merged: addresses not comparable";
    }
  }
  return run.compared_blocks == 0 ? "no block lies where addresses can be compared" : "";
}

}  // namespace heaptape::replayer
