#include "python/extension/tape_facts.h"

#include <optional>
#include <string>

#include "base/display_text.h"
#include "schema/heap_remedies.h"
#include "schema/owned_memory.h"

namespace nb = nanobind;

namespace heaptape::python {
namespace {

nb::str text(const std::string& bytes) {
  const std::string utf8 = base::valid_utf8(bytes);
  return nb::str(utf8.data(), utf8.size());
}

void add_origin(nb::dict& facts, const schema::TapeOrigin& origin) {
  if (origin.format.empty()) return;
  nb::list lacks;
  for (const std::string& name : schema::absent_names(origin)) lacks.append(text(name));
  nb::dict imported;
  imported["format"] = text(origin.format);
  imported["lacks"] = lacks;
  facts["import"] = imported;
}

void add_header(nb::dict& facts, const schema::TapeHeader& header) {
  nb::list words;
  for (const std::string& word : header.command_line) words.append(text(word));
  facts["command"] = text(base::command_text(header.command_line));
  facts["commandLine"] = words;
  facts["executable"] = text(header.executable);
  facts["pid"] = header.pid;
  facts["parentPid"] = header.parent_pid;
  facts["allocator"] = text(header.allocator);
  facts["allocatorFamily"] = text(header.recorded_allocator.family);
  facts["allocatorVersion"] = text(header.recorded_allocator.version);
  facts["libc"] = text(header.recorded_allocator.libc);
  nb::list settings;
  for (const std::string& setting : header.settings) settings.append(text(setting));
  facts["settings"] = settings;
  facts["writer"] = text(header.writer);
  facts["startUnixNs"] = header.start_unix_ns;
  add_origin(facts, header.origin);
  if (header.stacks.mode == schema::StackMode::kNone) return;
  nb::dict stacks;
  const bool is_fp = header.stacks.mode == schema::StackMode::kFramePointers;
  stacks["unwinding"] = is_fp ? "fp" : "dwarf";
  stacks["depth"] = header.stacks.depth;
  stacks["everyBytes"] = header.stacks.every_bytes;
  nb::list sizes;
  for (const schema::SizeRange& range : header.stacks.sizes) {
    nb::dict size;
    size["least"] = range.least;
    size["most"] = range.most;
    sizes.append(size);
  }
  if (!header.stacks.sizes.empty()) stacks["sizes"] = sizes;
  facts["stacks"] = stacks;
}

void add_losses(nb::dict& facts, const schema::TapeLosses& losses) {
  nb::dict lost;
  lost["lostEvents"] = losses.lost_events;
  lost["unrepairedInversions"] = losses.unrepaired_inversions;
  lost["lostRanges"] = losses.lost_ranges;
  facts["losses"] = lost;
  nb::dict causes;
  causes["ringFull"] = losses.causes.ring_full;
  causes["recorderStopped"] = losses.causes.recorder_stopped;
  causes["noRing"] = losses.causes.no_ring;
  causes["leftHooks"] = losses.causes.left_hooks;
  causes["malformed"] = losses.causes.malformed;
  causes["unknownFrees"] = losses.causes.unknown_frees;
  causes["doubleFrees"] = losses.causes.double_frees;
  facts["lossCauses"] = causes;
}

void add_threads(nb::dict& facts, const schema::TapeSummary& summary) {
  nb::list threads;
  for (const schema::ThreadIdentity& thread : summary.thread_list) {
    nb::dict one;
    one["id"] = thread.id;
    one["name"] = text(thread.name);
    threads.append(one);
  }
  facts["threads"] = summary.threads;
  facts["threadList"] = threads;
}

nb::list owner_list(const std::vector<schema::OwnedMemory>& owners) {
  nb::list list;
  for (const schema::OwnedMemory& owned : owners) {
    nb::dict one;
    one["owner"] = text(owned.owner);
    one["bytes"] = owned.bytes;
    list.append(one);
  }
  return list;
}

void add_memory(nb::dict& facts, const std::optional<schema::ProcessSample>& sample) {
  facts["peakBytes"] = sample ? sample->parts.peak_bytes : 0;
  if (!sample) return;
  nb::dict largest;
  largest["at"] = sample->event;
  largest["timeNs"] = sample->time_ns;
  largest["anonymousBytes"] = sample->resident_bytes;
  largest["fileBytes"] = sample->parts.file_bytes;
  largest["sharedBytes"] = sample->parts.shared_bytes;
  largest["hugeBytes"] = sample->parts.huge_bytes;
  if (const auto& of_malloc = sample->parts.malloc_bytes) {
    nb::dict parts;
    parts["mallocBytes"] = *of_malloc;
    parts["besideMallocBytes"] = sample->resident_bytes - *of_malloc;
    parts["stackBytes"] = sample->parts.stack_bytes.value_or(0);
    if (!sample->parts.owners.empty()) parts["owners"] = owner_list(sample->parts.owners);
    largest["anonymous"] = parts;
  }
  facts["largestSample"] = largest;
}

void add_inner_allocators(nb::dict& facts, const std::vector<schema::InnerAllocator>& files) {
  if (files.empty()) return;
  nb::list list;
  for (const schema::InnerAllocator& file : files) {
    nb::list families;
    for (const std::string& family : file.families) families.append(text(family));
    nb::dict one;
    one["file"] = text(file.file);
    one["owner"] = text(schema::owner_of_file(file.file));
    one["families"] = families;
    nb::list remedies;
    for (const std::string& remedy : schema::heap_remedies(file.families, file.file)) {
      remedies.append(text(remedy));
    }
    one["remedies"] = remedies;
    list.append(one);
  }
  facts["innerAllocators"] = list;
}

void add_summary(nb::dict& facts, const schema::TapeSummary& summary) {
  facts["allocations"] = summary.allocations;
  facts["frees"] = summary.frees;
  facts["reallocations"] = summary.reallocations;
  facts["failedCalls"] = summary.failed;
  add_threads(facts, summary);
  facts["durationNs"] = summary.duration_ns;
  facts["lateNs"] = summary.late_ns;
  facts["endReason"] = schema::describe(summary.end_reason);
  facts["endStatus"] = summary.end_status;
  add_losses(facts, summary.losses);
  facts["stalls"] = summary.stalls;
  facts["stallNs"] = summary.stall_ns;
  facts["repairedInversions"] = summary.repaired_inversions;
  facts["unknownFrees"] = summary.unknown_frees;
  facts["nestedCalls"] = summary.nested_calls;
  facts["bootstrapCalls"] = summary.bootstrap_calls;
  add_memory(facts, summary.largest_sample);
  add_inner_allocators(facts, summary.inner_allocators);
}

}  // namespace

nb::dict tape_facts(const schema::TapeReader& tape) {
  nb::dict facts;
  facts["path"] = text(tape.path());
  facts["fileBytes"] = tape.file_bytes();
  facts["events"] = tape.events();
  facts["inheritedBlocks"] = tape.inherited_blocks();
  if (!tape.inherited_problem().empty()) facts["inheritedProblem"] = tape.inherited_problem();
  facts["keyframes"] = tape.keyframes().size();
  facts["finished"] = tape.finished();
  add_header(facts, tape.header());
  if (tape.summary()) add_summary(facts, *tape.summary());
  return facts;
}

nb::list damage_list(const schema::TapeReader& tape) {
  nb::list damages;
  for (const schema::Damage& damage : tape.damages()) {
    nb::dict one;
    one["offset"] = damage.offset;
    one["bytes"] = damage.bytes;
    one["lostEvents"] = damage.lost_events;
    one["reason"] = text(damage.reason);
    damages.append(one);
  }
  return damages;
}

}  // namespace heaptape::python
