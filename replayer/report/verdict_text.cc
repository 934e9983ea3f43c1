#include "replayer/report/verdict_text.h"

#include <algorithm>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/number_text.h"
#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::grouped;

// "6.61 MiB (76.0%)" of what is held.
std::string part(const Verdict& verdict, uint64_t bytes) {
  return bytes_text(bytes) + " (" + share_text(bytes, verdict.held_bytes) + ")";
}

std::string percent(double share) {
  return base::format_text("%.0f", 100 * share) + "%";
}

std::string at(const Verdict& verdict) {
  return "at the " + verdict.moment;
}

// A command, as a shell takes it.
std::string command(const std::vector<std::string>& words) {
  return "`" + base::command_text(words) + "`";
}

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& one : sentences) text += (text.empty() ? "" : "; ") + one;
  return text;
}

std::string pins_text(const Finding& finding) {
  if (!finding.pins) return "";
  const PinnedBy& pins = *finding.pins;
  const bool is_one = pins.count == 1;
  std::string blocks = (is_one ? "one block" : base::counted(pins.count, "block")) + " of " +
                       bytes_text(pins.size_bytes);
  constexpr double kAll = 0.95;
  if (finding.site_share >= kAll) {
    blocks = finding.site + " has " + blocks + " that";
  } else if (!finding.site.empty()) {
    blocks += ", " + percent(finding.site_share) + " of them of " + finding.site + ",";
  }
  const std::string births =
      is_one ? "call #" + grouped(pins.first_birth)
             : "calls #" + grouped(pins.first_birth) + " to #" + grouped(pins.last_birth);
  return ": " + blocks + (is_one ? " pins " : " pin ") + bytes_text(pins.resident_hole_bytes) +
         " of it (" + births + ")";
}

// How to have an allocator give free pages back.
std::string purge_action(const std::string& family) {
  if (family == "jemalloc") {
    return "set `MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0`, or call "
           "`mallctl(\"arena.4096.purge\")`";
  }
  if (family == "mimalloc") return "call `mi_collect(true)`, or set `MIMALLOC_PURGE_DELAY=0`";
  if (family == "glibc") return "call `malloc_trim(0)`";
  if (family == "tcmalloc") return "call `MallocExtension_ReleaseFreeMemory()`";
  return "use its own call or setting for this";
}

// How to learn who asked for the blocks that pin.
std::string who_action(const Verdict& verdict, const Finding& finding) {
  if (!finding.pins || !finding.site.empty() || !verdict.can_be_recorded) return "";
  const uint64_t size = std::max<uint64_t>(finding.pins->size_bytes, 1);
  return "; " + command({"heaptape", "record", "--stacks", "dwarf,size=" + std::to_string(size)}) +
         " says who asks for them";
}

std::string holes_action(const Verdict& verdict, const Finding& finding, const std::string& tape) {
  return "allocate these before or apart from what is freed, or free them sooner; " +
         command({"heaptape", "holes", tape, "-a", verdict.run.spec, "--at", verdict.moment}) +
         " lists them" + who_action(verdict, finding);
}

std::string try_action(const Allocator& allocator) {
  std::string words;
  if (!allocator.library.empty()) words = "LD_PRELOAD=" + allocator.library;
  if (!allocator.settings.empty()) words += (words.empty() ? "" : " ") + allocator.settings;
  if (!words.empty()) return "try it: `" + words + "`";
  return "try " + (allocator.family.empty() ? "it" : allocator.family);
}

std::string better_text(const Verdict& verdict, const Finding& finding) {
  const uint64_t before = finding.allocator_bytes + finding.bytes;
  return finding.allocator->label + " would hold " + bytes_text(finding.allocator_bytes) + " " +
         at(verdict) + ", " + bytes_text(finding.bytes) + " (" + share_text(finding.bytes, before) +
         ") less; the prediction may be wrong by " + bytes_text(finding.error_bytes);
}

std::string purged_text(const Verdict& verdict, const Finding& finding) {
  return finding.allocator->label + " would hold " + bytes_text(finding.purged_bytes) + " " +
         at(verdict) + " if it gave free memory back at once, " + bytes_text(finding.bytes) +
         " less than " + (verdict.run.family.empty() ? "yours" : verdict.run.family) +
         " would then; as it is, " + bytes_text(finding.allocator_bytes);
}

std::string no_better_text(const Verdict& verdict, const Finding& finding) {
  if (!finding.allocator) {
    return "another allocator is not worth trying: " + base::name_list(finding.compared) +
           " would hold about as much or more";
  }
  return "another allocator may help: " + finding.allocator->label + " would hold " +
         bytes_text(finding.allocator_bytes) + " " + at(verdict) + ", " +
         bytes_text(finding.bytes) + " less, but the prediction may be wrong by " +
         bytes_text(finding.error_bytes);
}

std::string nothing_text(const Verdict& verdict, const Finding& finding) {
  const std::string nothing = "the allocator has no free part that is large enough to matter";
  return finding.compared.empty() ? nothing : nothing + "; " + no_better_text(verdict, finding);
}

// Behind bytes that would be given back.
std::string overlap_text(const Verdict& verdict) {
  return verdict.has(FindingKind::kHoles) ? ", part of the holes included" : "";
}

// Most of what is live at the moment is so at the end: there is no need to be exact.
bool is_never_freed(const Verdict& verdict) {
  const uint64_t live = verdict.live_bytes + verdict.untouched_bytes;
  return verdict.end_live_bytes != 0 && verdict.end_live_bytes >= live - live / 10;
}

std::string never_freed_text(const Verdict& verdict) {
  if (!is_never_freed(verdict)) return "";
  return "; " + bytes_text(verdict.end_live_bytes) + " is live at the end, never freed";
}

// ", 98.8% of it for new_session (app.c:12)"
std::string live_site_text(const Finding& finding) {
  if (finding.site.empty()) return "";
  return ", " + percent(finding.site_share) + " of it for " + finding.site;
}

std::string live_action(const Verdict& verdict, const Finding& finding, const std::string& tape) {
  if (!finding.site.empty()) {
    return "keep less of it, or free it sooner; " +
           command({"heaptape", "stats", tape, "--by", "site", "--at", verdict.moment}) +
           " names all who asked for it";
  }
  if (!verdict.can_be_recorded) return "";
  return command({"heaptape", "record", "--stacks", "dwarf"}) + " says who asks for it";
}

std::string plain_evidence(const Verdict& verdict, const Finding& finding) {
  const std::string bytes = part(verdict, finding.bytes);
  switch (finding.kind) {
    case FindingKind::kBesideMalloc:
      return finding.beside.text;
    case FindingKind::kHoles:
      return bytes + " is free between live blocks" + pins_text(finding);
    case FindingKind::kTrim:
      return "malloc_trim(0) would give back " + bytes + overlap_text(verdict);
    case FindingKind::kPurge:
      return "a purge would give back " + bytes + overlap_text(verdict);
    case FindingKind::kAllocator:
      return better_text(verdict, finding);
    case FindingKind::kPurged:
      return purged_text(verdict, finding);
    case FindingKind::kSlack:
      return bytes + " is slack: blocks are larger than the requests";
    case FindingKind::kCaches:
      return bytes + " is kept in caches for reuse";
    case FindingKind::kMetadata:
      return bytes + " is the allocator's own: headers and tables";
    case FindingKind::kUnseen:
      return bytes + " is from before the recording, and its blocks are not known";
    case FindingKind::kLive:
      return bytes + " is live" + live_site_text(finding) +
             ": another allocator cannot hold less than that" + never_freed_text(verdict);
    case FindingKind::kNothing:
      return nothing_text(verdict, finding);
    case FindingKind::kNoBetter:
      return no_better_text(verdict, finding);
  }
  return "";
}

std::string plain_action(const Verdict& verdict, const Finding& finding, const std::string& tape) {
  switch (finding.kind) {
    case FindingKind::kBesideMalloc:
      return joined(finding.beside.remedies);
    case FindingKind::kHoles:
      return holes_action(verdict, finding, tape);
    case FindingKind::kTrim:
      return "call it when work is done; " +
             command({"heaptape", "replay", tape, "--do", "trim@" + verdict.moment}) + " tries it";
    case FindingKind::kPurge:
      return purge_action(verdict.run.family);
    case FindingKind::kAllocator:
      return try_action(*finding.allocator);
    case FindingKind::kPurged:
      return try_action(*finding.allocator) + "; " + purge_action(finding.allocator->family);
    case FindingKind::kNothing:
    case FindingKind::kNoBetter:
      return finding.allocator ? try_action(*finding.allocator) : "";
    case FindingKind::kSlack:
      return "request sizes that fit the allocator's classes; " +
             command({"heaptape", "stats", tape}) + " shows the sizes";
    case FindingKind::kLive:
      return live_action(verdict, finding, tape);
    case FindingKind::kUnseen:
      return "record from the program's start";
    case FindingKind::kCaches:
    case FindingKind::kMetadata:
      break;
  }
  return "";
}

std::string subject(const Verdict& verdict) {
  switch (verdict.role) {
    case RunRole::kRecorded:
    case RunRole::kFaithful:
      return "Your run keeps ";
    case RunRole::kSame:
      return "On " + verdict.run.label + ", which it ran with, the program keeps ";
    case RunRole::kCandidate:
      break;
  }
  return "On " + verdict.run.label + ", the program would keep ";
}

}  // namespace

std::string headline(const Verdict& verdict) {
  if (verdict.run.label.empty()) {
    return "No run with memory of its own reached the end of the tape.";
  }
  const bool is_beside = !verdict.findings.empty() &&
                         verdict.findings.front().kind == FindingKind::kBesideMalloc &&
                         verdict.findings.front().beside.is_most;
  std::string text = is_beside ? "Most memory of the process is beside malloc. " : "";
  text += subject(verdict) + bytes_text(verdict.held_bytes) + (is_beside ? " in malloc " : " ") +
          at(verdict) + " for " + bytes_text(verdict.live_bytes) + " live";
  if (verdict.began_late) text += " since the recording began";
  if (verdict.untouched_bytes != 0 && verdict.role == RunRole::kRecorded) {
    text += " (" + bytes_text(verdict.untouched_bytes) + " more were never touched)";
  }
  if (!verdict.has_little_to_gain()) return text + ".";
  return text + ". Most of it is " + (is_never_freed(verdict) ? "never freed" : "in use") +
         ": an allocator can change little.";
}

std::string evidence(const Verdict& verdict, const Finding& finding) {
  return base::display_text(plain_evidence(verdict, finding));
}

std::string action(const Verdict& verdict, const Finding& finding, const std::string& tape) {
  return base::display_text(plain_action(verdict, finding, tape));
}

std::string verdict_text(const Verdict& verdict, const std::string& tape) {
  std::string text = headline(verdict) + "\n";
  size_t number = 0;
  for (const Finding& finding : verdict.findings) {
    text += "  " + std::to_string(++number) + ". " + evidence(verdict, finding) + "\n";
    const std::string todo = action(verdict, finding, tape);
    if (!todo.empty()) text += "     " + todo + "\n";
  }
  return text;
}

}  // namespace heaptape::replayer
