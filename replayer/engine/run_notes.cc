#include "replayer/engine/run_notes.h"

#include <algorithm>
#include <iterator>

#include "allocators/catalog/allocator_family.h"
#include "allocators/catalog/setting_notes.h"
#include "base/number_text.h"

namespace heaptape::replayer {
namespace {

using allocators::BackendSpec;

std::string merged_note(const BackendSpec& spec, const TapeFacts& tape) {
  const std::string threads = base::grouped(tape.threads()) + " threads";
  if (!spec.runs_real_code()) return "takes the calls of " + threads + " for those of one";
  return threads + " merged: per-thread caches and arenas are left out; memory is understated";
}

void add_native_notes(const BackendSpec& spec, const RunModes& modes, const TapeFacts& tape,
                      std::vector<std::string>& notes) {
  using allocators::CallingThreads;
  if (modes.touch == allocators::Touch::kNone) {
    notes.push_back("no block was touched: resident figures mean nothing");
  }
  if (modes.clock == allocators::Clock::kReal && spec.sees_time()) {
    notes.emplace_back(
        "the clock was that of the replay: memory goes back at other times than in the program");
  }
  if (modes.threads == "free") {
    notes.emplace_back("threads ran at the same time: holes and slack are not known");
  }
  const bool on_several = tape.threads() > 1 && modes.threads != "merged";
  std::ranges::move(
      allocators::setting_notes(spec.family(), spec.environment,
                                on_several ? CallingThreads::kSeveral : CallingThreads::kOne),
      std::back_inserter(notes));
}

}  // namespace

TapeFacts::TapeFacts(const schema::TapeHeader& header)
    : family_(allocators::allocator_family(header.allocator)) {}

void TapeFacts::note(const schema::EventBatch& batch) {
  for (const schema::Event& event : batch.events) threads_ = std::max(threads_, event.thread + 1);
  has_thread_ends_ |= !batch.thread_ends.empty();
  has_times_ |= !batch.times.empty();
}

std::vector<std::string> run_notes(const BackendSpec& spec, const RunModes& modes,
                                   const TapeFacts& tape) {
  using allocators::BackendKind;
  std::vector<std::string> notes;
  if (spec.kind == BackendKind::kRecorded || spec.kind == BackendKind::kNoop) return notes;
  if (tape.threads() > 1) {
    if (modes.threads == "merged") {
      notes.push_back(merged_note(spec, tape));
    } else if (!tape.has_thread_ends()) {
      notes.emplace_back("no thread ends in these calls: caches and arenas of threads stay");
    }
  }
  const bool by_tape = !spec.runs_real_code() || modes.clock == allocators::Clock::kTape;
  if (by_tape && spec.sees_time() && !tape.has_times()) {
    notes.emplace_back("nothing decays: the tape has no times");
  }
  if (spec.runs_real_code()) add_native_notes(spec, modes, tape, notes);
  return notes;
}

std::string why_incomparable(const BackendSpec& spec, const RunModes& modes,
                             const TapeFacts& tape) {
  const std::string family = spec.family();
  if (family.empty() || tape.family().empty()) return "";
  if (family != tape.family()) {
    return "recorded on " + tape.family() + ": addresses not comparable with " + family + "'s";
  }
  if (modes.threads == "free") {
    return "threads ran at the same time: addresses differ from run to run";
  }
  if (modes.threads != "merged" || tape.threads() == 1) return "";
  return base::grouped(tape.threads()) + " threads merged: addresses not comparable";
}

}  // namespace heaptape::replayer
