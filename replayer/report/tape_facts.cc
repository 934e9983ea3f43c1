#include "replayer/report/tape_facts.h"

#include <capnp/message.h>

#include <ctime>

#include "base/display_text.h"
#include "replayer/report/process_fields.h"
#include "replayer/report/run_fields.h"
#include "replayer/report/site_fields.h"
#include "replayer/report/state_fields.h"
#include "replayer/text/metric_text.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

void set_stacks(wire::TapeFacts::StackFacts::Builder out, const schema::StackRecording& stacks) {
  out.setUnwinding(stacks.mode == schema::StackMode::kFramePointers ? "fp" : "dwarf");
  out.setDepth(stacks.depth);
  out.setEveryBytes(stacks.every_bytes);
  if (stacks.sizes.empty()) return;
  set_size_ranges(out.initSizes(static_cast<unsigned>(stacks.sizes.size())), stacks.sizes);
}

void set_header(wire::TapeFacts::Builder facts, const schema::TapeHeader& header) {
  facts.setCommand(base::command_text(header.command_line));
  auto words = facts.initCommandLine(static_cast<unsigned>(header.command_line.size()));
  for (unsigned i = 0; i < words.size(); ++i) words.set(i, header.command_line[i]);
  facts.setExecutable(header.executable);
  facts.setPid(header.pid);
  facts.setParentPid(header.parent_pid);
  facts.setAllocator(header.allocator);
  facts.setAllocatorFamily(header.recorded_allocator.family);
  facts.setAllocatorVersion(header.recorded_allocator.version);
  facts.setLibc(header.recorded_allocator.libc);
  auto settings = facts.initSettings(static_cast<unsigned>(header.settings.size()));
  for (unsigned i = 0; i < settings.size(); ++i) settings.set(i, header.settings[i]);
  facts.setWriter(header.writer);
  if (header.start_unix_ns != 0) facts.setRecordedAt(utc_text(header.start_unix_ns));
  if (header.stacks.mode != schema::StackMode::kNone) {
    set_stacks(facts.initStacks(), header.stacks);
  }
  if (!header.origin.format.empty()) set_import(facts.initImport(), header.origin);
}

void set_losses(wire::TapeFacts::Builder facts, const schema::TapeLosses& losses) {
  auto out = facts.initLosses();
  out.setLostEvents(losses.lost_events);
  out.setUnrepairedInversions(losses.unrepaired_inversions);
  out.setLostRanges(losses.lost_ranges);
  auto causes = facts.initLossCauses();
  causes.setRingFull(losses.causes.ring_full);
  causes.setRecorderStopped(losses.causes.recorder_stopped);
  causes.setNoRing(losses.causes.no_ring);
  causes.setLeftHooks(losses.causes.left_hooks);
  causes.setMalformed(losses.causes.malformed);
  causes.setUnknownFrees(losses.causes.unknown_frees);
  causes.setDoubleFrees(losses.causes.double_frees);
}

void set_summary(wire::TapeFacts::Builder facts, const schema::TapeSummary& summary) {
  facts.setAllocations(summary.allocations);
  facts.setFrees(summary.frees);
  facts.setReallocations(summary.reallocations);
  facts.setFailedCalls(summary.failed);
  facts.setThreads(summary.threads);
  auto threads = facts.initThreadList(static_cast<unsigned>(summary.thread_list.size()));
  for (unsigned i = 0; i < threads.size(); ++i) {
    threads[i].setId(summary.thread_list[i].id);
    threads[i].setName(summary.thread_list[i].name);
  }
  facts.setDurationNs(summary.duration_ns);
  facts.setLateNs(summary.late_ns);
  facts.setEnded(end_text(summary));
  set_losses(facts, summary.losses);
  facts.setStalls(summary.stalls);
  facts.setStallNs(summary.stall_ns);
  facts.setRepairedInversions(summary.repaired_inversions);
  facts.setUnknownFrees(summary.unknown_frees);
  facts.setNestedCalls(summary.nested_calls);
  facts.setBootstrapCalls(summary.bootstrap_calls);
  if (const auto& sample = summary.largest_sample) {
    facts.setPeakBytes(sample->parts.peak_bytes);
    set_process(facts.initLargestSample(), *sample);
  }
  set_inner_allocators(facts, summary.inner_allocators);
}

}  // namespace

std::string end_text(const schema::TapeSummary& summary) {
  std::string text = schema::describe(summary.end_reason);
  if (summary.end_reason == schema::EndReason::kSignalled) {
    text += " " + std::to_string(summary.end_status);
  } else if (summary.end_reason == schema::EndReason::kExited && summary.end_status >= 0) {
    text += " with status " + std::to_string(summary.end_status);
  }
  return text;
}

std::string utc_text(uint64_t unix_ns) {
  const auto seconds = static_cast<time_t>(unix_ns / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

base::Result<std::string> facts_json(const schema::TapeReader& tape) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the facts as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto facts = message.initRoot<wire::TapeFacts>();
                            facts.setVersion(wire::REPORT_VERSION);
                            facts.setPath(tape.path());
                            facts.setFileBytes(tape.file_bytes());
                            facts.setBytesPerEvent(ratio(tape.file_bytes(), tape.own_events()));
                            set_header(facts, tape.header());
                            facts.setEvents(tape.events());
                            facts.setInheritedBlocks(tape.inherited_blocks());
                            facts.setKeyframes(tape.keyframes().size());
                            if (!tape.inherited_problem().empty()) {
                              facts.setInheritedProblem(tape.inherited_problem());
                            }
                            facts.setFinished(tape.finished());
                            if (tape.summary()) set_summary(facts, *tape.summary());
                            return schema::json_text(facts.asReader());
                          });
}

}  // namespace heaptape::replayer
