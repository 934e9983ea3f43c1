#include "replayer/report/explain_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "replayer/report/heap_sites.h"
#include "replayer/report/pin_callers.h"
#include "replayer/text/metric_text.h"
#include "replayer/text/text_table.h"

namespace heaptape::replayer {
namespace {

using base::bytes_text;
using base::format_text;
using base::grouped;

// Separates parts by a blank line.
std::string sections(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : "\n") + part;
  }
  return text;
}

std::string call(uint64_t event) {
  return "#" + grouped(event);
}

std::string heading(const schema::TapeReader& tape, const Explanation& explanation) {
  const Moment& moment = explanation.moment;
  const bool is_found = !moment.name.empty() && moment.name[0] != '#';
  std::string text =
      base::display_text(tape.path()) + " on " + base::display_text(explanation.run.spec.label);
  if (is_found) text += " at " + base::display_text(moment.name);
  text += ": after " + call(moment.event) + " of " + base::counted(tape.events(), "call");
  if (moment.time_ns) text += format_text(", %.3f s", static_cast<double>(*moment.time_ns) / 1e9);
  text += "\n";
  const auto inner =
      tape.summary() ? tape.summary()->inner_allocators : std::vector<schema::InnerAllocator>();
  if (moment.process && moment.process->parts.malloc_bytes) {
    text += "process: " + schema::memory_text(*moment.process, inner) + "\n";
  }
  const std::string unseen = schema::inner_calls_text(inner);
  return unseen.empty() ? text : text + "not seen: " + unseen + "\n";
}

// Live and slack bytes follow the program's requests, as in reports: new(0), say, asks the
// allocator for more.
std::string account_text(const Explanation& explanation) {
  const MomentState& state = explanation.state();
  const Account& account = *state.account;
  const bool is_sampled = explanation.run.spec.kind == allocators::BackendKind::kRecorded;
  const uint64_t whole = is_sampled ? account.committed_bytes : account.resident_bytes;
  const auto row = [whole](const char* what, uint64_t bytes) {
    return TableRow{what, bytes_text(bytes), share_text(bytes, whole)};
  };
  std::vector<TableRow> rows{
      {"where the memory is", "bytes", is_sampled ? "of committed" : "of resident"}};
  rows.push_back(row("  live, as requested", state.snapshot.live.live_bytes));
  rows.push_back(row("  slack of size classes", state.snapshot.slack_bytes()));
  rows.push_back(row("  headers and other metadata", account.metadata_bytes));
  rows.push_back(row("  kept in caches", account.cached_bytes));
  rows.push_back(row("  free in holes", account.hole_bytes));
  rows.push_back(row("  free at the top of regions", account.top_bytes));
  if (account.late && account.late->unseen_bytes != 0) {
    rows.push_back(row("  unseen: from before the recording", account.late->unseen_bytes));
  }
  if (account.untouched_bytes != 0) {
    rows.push_back({"  less live bytes that were never touched",
                    "-" + bytes_text(account.untouched_bytes), ""});
  }
  if (is_sampled) {
    const bool is_known = explanation.run.metrics.known_resident != KnownResident::kNothing;
    rows.push_back(row("= committed", account.committed_bytes));
    rows.push_back(
        {"  resident, as sampled", is_known ? bytes_text(state.snapshot.resident_bytes) : "-", ""});
  } else {
    rows.push_back(row("= resident", account.resident_bytes));
    rows.push_back({"  free and returned to the system", bytes_text(account.returned_bytes), ""});
    rows.push_back({"= committed", bytes_text(account.committed_bytes), ""});
  }
  if (account.unexplained_bytes != 0) {
    const bool is_less = account.unexplained_bytes < 0;
    const auto bytes = static_cast<uint64_t>(account.unexplained_bytes);
    rows.push_back(
        {"  unexplained", (is_less ? "-" : "") + bytes_text(is_less ? 0 - bytes : bytes), ""});
  }
  return aligned(rows);
}

std::string tried_text(const RunMetrics& metrics) {
  if (metrics.actions.empty()) return "";
  const ActionResult& action = metrics.actions.front();
  const uint64_t before = action.before.resident_bytes;
  const uint64_t after = action.after.resident_bytes;
  return bytes_text(before > after ? before - after : 0);
}

// The resident part of holes: "-" where it is not known which pages are resident.
class ResidentText {
 public:
  explicit ResidentText(const RunMetrics& run)
      : is_known_(run.known_resident <= KnownResident::kHoles) {}
  bool is_known() const { return is_known_; }
  std::string operator()(uint64_t bytes, uint64_t error = 0) const {
    return is_known_ ? base::estimated_bytes_text(bytes, error) : "-";
  }

 private:
  bool is_known_;
};

// The usual name of a remedy.
const char* describe(Remedy remedy) {
  switch (remedy) {
    case Remedy::kTrim:
      return "  malloc_trim(0)";
    case Remedy::kPurge:
      return "  a purge of all pages that hold nothing";
    case Remedy::kMeshing:
      return "  sharing pages whose live parts do not overlap (meshing)";
    case Remedy::kForesight:
      return "  perfect foresight, without moving blocks";
    case Remedy::kCompaction:
      break;
  }
  return "  moving all blocks together (compaction)";
}

std::string remedies_text(const Explanation& explanation) {
  const std::vector<Estimate> estimates = estimates_of(explanation);
  if (estimates.empty()) return "";
  std::string tried = tried_text(explanation.run.metrics);
  std::vector<TableRow> rows{{"what would give resident bytes back", "estimate", "tried"}};
  for (const Estimate& estimate : estimates) {
    // The first is available through the allocator.
    rows.push_back(
        {describe(estimate.remedy), bytes_text(estimate.bytes), std::exchange(tried, "")});
  }
  return aligned(rows);
}

// Below the table of pins: which stacks to record.
std::string record_again_text(std::span<const PinCallers> callers, const CallSites& calls) {
  const std::string stacks = stacks_to_record(callers, calls);
  if (stacks.empty()) return "";
  return "  to know who asked for those without a stack: heaptape record --stacks " + stacks + "\n";
}

std::string pins_text(const HeapPicture& picture, const std::vector<Hole>& holes, size_t top,
                      const CallSites* calls, ResidentText resident_text) {
  const std::vector<PinGroup> groups = rank_pins(picture, holes, top);
  if (groups.empty()) return "no holes\n";
  std::vector<TableRow> rows{{"which blocks stand beside holes", "of bytes", "thread", "born from",
                              "to", "resident in holes", "in holes"}};
  std::vector<PinCallers> callers;
  if (calls != nullptr) callers = pin_callers(picture, groups, *calls);
  for (size_t i = 0; i < groups.size(); ++i) {
    const PinGroup& group = groups[i];
    rows.push_back({"  " + base::counted(group.count, "block"), grouped(group.size_bytes),
                    std::to_string(group.thread), call(group.first_birth), call(group.last_birth),
                    resident_text(group.resident_hole_bytes), bytes_text(group.hole_bytes)});
    if (calls == nullptr) continue;
    rows.push_back({"    " + most_text(callers[i], group, calls->sites())});
    const std::string like = like_text(callers[i], group, calls->sites());
    if (!like.empty()) rows.push_back({"    " + like});
  }
  return aligned(rows) + (calls == nullptr ? "" : record_again_text(callers, *calls));
}

std::string sites_text(const HeapPicture& picture, const std::vector<Hole>& holes, size_t top,
                       const CallSites* calls, ResidentText resident_text) {
  if (calls == nullptr) return "";
  const char* const who =
      calls->is_sampled() ? "call sites of the blocks (estimated)" : "call sites of the blocks";
  std::vector<TableRow> rows{
      {who, "blocks", "live, as requested", "slack", "resident in holes", "in holes"}};
  for (const HeapSite& site : heap_sites(picture, holes, *calls)) {
    if (rows.size() > top) break;
    const HeapErrors& errors = site.errors;
    rows.push_back({"  " + calls->sites().short_text(site.site),
                    base::estimated_text(site.blocks, errors.blocks),
                    base::estimated_bytes_text(site.live_bytes, errors.live_bytes),
                    bytes_text(site.slack_bytes),
                    resident_text(site.resident_hole_bytes, errors.resident_hole_bytes),
                    base::estimated_bytes_text(site.hole_bytes, errors.hole_bytes)});
  }
  if (rows.size() == 1) return "";  // no stack of a live block was sampled
  const char* const counted =
      calls->is_sampled()
          ? "  (+- is the standard error; a hole between two blocks counts half for each)\n"
          : "  (a hole between blocks of two sites counts for both)\n";
  return aligned(rows) + counted;
}

// The block that limited the largest hole.
std::string pin_cell(const HeapGrowth& growth) {
  if (!growth.pin || growth.short_bytes() == 0) return "";
  return grouped(growth.pin->requested_bytes) + " bytes of " + call(growth.pin->birth);
}

std::string growth_sites_text(const HeapGrowth& growth, const CallSites& calls) {
  std::string text = "for " + calls.short_text(growth.event);
  if (growth.pin && growth.short_bytes() != 0) {
    const bool is_sampled = calls.weight_of(growth.pin->birth) != 0;
    text += is_sampled ? "; pinned by a block of " + calls.short_text(growth.pin->birth)
                       : "; no stack sampled of the block that pins";
  }
  return text;
}

std::string growths_text(const std::vector<HeapGrowth>& growths, size_t top,
                         const CallSites* calls) {
  if (growths.empty()) return "";
  std::vector<TableRow> rows{{"the largest growths", "by", "request", "largest hole", "short by",
                              "pinned by", "free in all", "given back"}};
  for (size_t i = 0; i < std::min(top, growths.size()); ++i) {
    const HeapGrowth& growth = growths[i];
    rows.push_back({"  " + call(growth.event), bytes_text(growth.growth_bytes),
                    grouped(growth.request_bytes), grouped(growth.largest_hole_bytes),
                    grouped(growth.short_bytes()), pin_cell(growth), bytes_text(growth.free_bytes),
                    growth.given_back_at == 0 ? "never" : call(growth.given_back_at)});
    if (calls != nullptr) rows.push_back({"    " + growth_sites_text(growth, *calls)});
    if (!growth.rule.empty()) rows.push_back({"    " + growth.rule});
  }
  return aligned(rows);
}

std::string notes_text(const RunResult& run) {
  std::string text;
  for (const std::string& note : run.notes) text += "note: " + note + "\n";
  return text;
}

std::string block_text(const HeapPicture& picture, size_t index, bool is_unseen,
                       const CallSites* calls) {
  if (is_unseen) return "unseen memory, from before the recording";
  if (index == kNoBlock) return "the beginning of the region";
  const LiveBlock& block = picture.blocks[index];
  return format_text("%s bytes at 0x%llx, born at %s (%s calls ago), thread %u",
                     grouped(block.requested_bytes).c_str(),
                     static_cast<unsigned long long>(block.address), call(block.birth).c_str(),
                     grouped(picture.at - block.birth).c_str(), block.thread) +
         (calls == nullptr                     ? ""
          : calls->weight_of(block.birth) == 0 ? ", no stack sampled"
                                               : ", in " + calls->short_text(block.birth));
}

std::string hole_text(const HeapPicture& picture, const Hole& hole, const CallSites* calls,
                      ResidentText resident_text) {
  std::string text = format_text("  0x%llx: ", static_cast<unsigned long long>(hole.range.begin)) +
                     grouped(hole.range.bytes()) + " bytes (" + bytes_text(hole.range.bytes()) +
                     ")";
  if (resident_text.is_known()) {
    text += ", " +
            (hole.resident_bytes == hole.range.bytes() ? "all" : bytes_text(hole.resident_bytes)) +
            " resident";
  }
  if (picture.frees != nullptr) {
    if (const auto made = picture.frees->latest_in(hole.range)) {
      text += "; last free in it: " + call(made->event) + ", of " + grouped(made->block.bytes()) +
              " bytes";
    }
  }
  text += "\n    before it: " + block_text(picture, hole.before, hole.unseen.before, calls) +
          "\n    after it: " + block_text(picture, hole.after, hole.unseen.after, calls) + "\n";
  if (hole.is_open()) return text + "    it may be larger, and its pin is not known\n";
  const Pin pin = pin_of(picture, hole);
  return text + "    without the " + (pin.block == hole.after ? "latter" : "former") +
         ": a hole of " + bytes_text(pin.joined_bytes) + ", " +
         bytes_text(bytes_behind_pin(picture, pin.block)) + " more in whole pages\n";
}

std::string hole_sizes_text(const Account& account, ResidentText resident_text) {
  std::vector<TableRow> rows{{"holes between live blocks", "count", "bytes", "free and resident"}};
  for (size_t i = 0; i < account.holes.size(); ++i) {
    const HoleClass& holes = account.holes[i];
    if (holes.count == 0) continue;
    rows.push_back({"  " + bytes_text(uint64_t{1} << i) + " and more", grouped(holes.count),
                    bytes_text(holes.bytes), resident_text(holes.resident_bytes)});
  }
  return rows.size() == 1 ? "" : aligned(rows);
}

}  // namespace

std::string explanation_text(const schema::TapeReader& tape, const Explanation& explanation,
                             const HolesOptions& options, const CallSites* sites) {
  const HeapPicture& picture = *explanation.run.picture;
  const Account& account = *explanation.state().account;
  const std::vector<Hole> holes = find_holes(picture);
  const ResidentText resident(explanation.run.metrics);
  return sections({heading(tape, explanation), account_text(explanation),
                   remedies_text(explanation), hole_sizes_text(account, resident),
                   sites_text(picture, holes, options.top, sites, resident),
                   pins_text(picture, holes, options.top, sites, resident),
                   growths_text(explanation.run.metrics.heap_growths, options.top, sites),
                   notes_text(explanation.run)});
}

std::string holes_text(const schema::TapeReader& tape, const Explanation& explanation,
                       const HolesOptions& options, const CallSites* sites) {
  const HeapPicture& picture = *explanation.run.picture;
  const std::vector<Hole> holes = find_holes(picture);
  const ResidentText resident(explanation.run.metrics);
  const std::vector<Hole> largest = largest_holes(holes, options.min_bytes, options.top);
  std::string list;
  for (const Hole& hole : largest) list += hole_text(picture, hole, sites, resident);
  if (!list.empty()) list.insert(0, "the largest\n");
  return sections(
      {heading(tape, explanation), hole_sizes_text(*explanation.state().account, resident), list,
       sites_text(picture, holes, options.top, sites, resident),
       pins_text(picture, holes, options.top, sites, resident), notes_text(explanation.run)});
}

}  // namespace heaptape::replayer
