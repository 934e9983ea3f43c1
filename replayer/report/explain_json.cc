
#include <capnp/message.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "replayer/answers/holes.h"
#include "replayer/answers/pins.h"
#include "replayer/report/explain_output.h"
#include "replayer/report/heap_sites.h"
#include "replayer/report/pin_callers.h"
#include "replayer/report/run_fields.h"
#include "replayer/report/site_fields.h"
#include "replayer/report/state_fields.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

void set_block_and_site(wire::Block::Builder out, const LiveBlock& block, const CallSites* calls) {
  set_block(out, block);
  if (calls != nullptr) out.setSite(calls->text(block.birth));
}

void set_hole(wire::Explanation::Hole::Builder out, const HeapPicture& picture, const Hole& hole,
              const CallSites* calls) {
  out.setAddress(hole.range.begin);
  out.setBytes(hole.range.bytes());
  out.setResidentBytes(hole.resident_bytes);
  out.setPurgeableBytes(hole.purgeable_bytes);
  if (picture.frees != nullptr) {
    if (const auto free = picture.frees->latest_in(hole.range)) out.setLastFreeAt(free->event);
  }
  if (hole.before != kNoBlock) {
    set_block_and_site(out.initBefore(), picture.blocks[hole.before], calls);
  }
  if (hole.after != kNoBlock) {
    set_block_and_site(out.initAfter(), picture.blocks[hole.after], calls);
  }
  if (hole.is_open()) {
    out.setUnseen(!hole.unseen.after ? "before" : hole.unseen.before ? "both" : "after");
    return;
  }
  const Pin pin = pin_of(picture, hole);
  out.setPinnedBy(pin.block == hole.before ? "before" : "after");
  out.setBytesWithoutPin(pin.joined_bytes);
  out.setPagesBehindPin(bytes_behind_pin(picture, pin.block));
}

void set_pins(wire::Explanation::PinGroup::Builder out, const PinGroup& group) {
  out.setRequestedBytes(group.size_bytes);
  out.setThread(group.thread);
  out.setCount(group.count);
  out.setFirstBirth(group.first_birth);
  out.setLastBirth(group.last_birth);
  out.setHoleBytes(group.hole_bytes);
  out.setResidentHoleBytes(group.resident_hole_bytes);
  out.setPurgeableBytes(group.purgeable_bytes);
}

void set_callers(wire::Explanation::PinGroup::Builder out, const PinCallers& callers,
                 const CallSites& calls) {
  const Sites& sites = calls.sites();
  if (callers.most.blocks != 0) out.setSite(sites.text(callers.most.site));
  out.setSiteCount(callers.most.blocks);
  if (!callers.is_sampled) return;
  auto sampled = out.initSampled();
  sampled.setStackCount(callers.with_stack);
  sampled.setSampledOfSize(callers.sampled_like);
  auto like = sampled.initCallers(static_cast<unsigned>(callers.like.size()));
  for (unsigned i = 0; i < like.size(); ++i) {
    like[i].setSite(sites.text(callers.like[i].site));
    like[i].setCount(callers.like[i].blocks);
  }
  sampled.setRecordStacks(stacks_to_record({&callers, 1}, calls));
}

void set_hole_sizes(wire::Explanation::Builder out, const Account& account) {
  const auto filled = std::ranges::count_if(account.holes, &HoleClass::count);
  auto sizes = out.initHoleSizes(static_cast<unsigned>(filled));
  unsigned next = 0;
  for (uint32_t log2 = 0; log2 < account.holes.size(); ++log2) {
    const HoleClass& holes = account.holes[log2];
    if (holes.count == 0) continue;
    sizes[next].setLog2Size(log2);
    sizes[next].setCount(holes.count);
    sizes[next].setBytes(holes.bytes);
    sizes[next++].setResidentBytes(holes.resident_bytes);
  }
}

const char* name_of(Remedy remedy) {
  switch (remedy) {
    case Remedy::kTrim:
      return "trim";
    case Remedy::kPurge:
      return "purge";
    case Remedy::kMeshing:
      return "meshing";
    case Remedy::kForesight:
      return "foresight";
    case Remedy::kCompaction:
      break;
  }
  return "compaction";
}

void set_estimates(wire::Explanation::Builder out, const std::vector<Estimate>& estimates) {
  auto list = out.initEstimates(static_cast<unsigned>(estimates.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setWhat(name_of(estimates[i].remedy));
    list[i].setBytes(estimates[i].bytes);
  }
}

void set_growth(wire::HeapGrowth::Builder out, const HeapGrowth& growth, const CallSites* calls) {
  set_heap_growth(out, growth);
  if (calls == nullptr) return;
  out.setSite(calls->text(growth.event));
  if (growth.pin) out.getPin().setSite(calls->text(growth.pin->birth));
}

void set_sites(wire::Explanation::Builder out, const std::vector<HeapSite>& sites,
               const Sites& names) {
  auto list = out.initSites(static_cast<unsigned>(sites.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setSite(names.text(sites[i].site));
    list[i].setBlocks(sites[i].blocks);
    list[i].setLiveBytes(sites[i].live_bytes);
    list[i].setSlackBytes(sites[i].slack_bytes);
    list[i].setHoleBytes(sites[i].hole_bytes);
    list[i].setResidentHoleBytes(sites[i].resident_hole_bytes);
    if (sites[i].errors != HeapErrors()) set_heap_errors(list[i].initStandardErrors(), sites[i]);
  }
}

void set_run(wire::Explanation::Builder out, const RunResult& run, const CallSites* calls) {
  std::string backend = run.spec.text;
  for (const std::string& variable : run.spec.environment) backend += " " + variable;
  out.setLabel(run.spec.label);
  out.setBackend(backend);
  const RunMetrics& metrics = run.metrics;
  auto actions = out.initActions(static_cast<unsigned>(metrics.actions.size()));
  for (unsigned i = 0; i < actions.size(); ++i) set_action(actions[i], metrics.actions[i]);
  auto growths = out.initHeapGrowths(static_cast<unsigned>(metrics.heap_growths.size()));
  for (unsigned i = 0; i < growths.size(); ++i)
    set_growth(growths[i], metrics.heap_growths[i], calls);
  auto notes = out.initNotes(static_cast<unsigned>(run.notes.size()));
  for (unsigned i = 0; i < notes.size(); ++i) notes.set(i, run.notes[i]);
}

void set_explanation(wire::Explanation::Builder out, const schema::TapeReader& tape,
                     const Explanation& explanation, const HolesOptions& options,
                     const CallSites* calls) {
  const HeapPicture& picture = *explanation.run.picture;
  const MomentState& state = explanation.state();
  out.setVersion(wire::REPORT_VERSION);
  out.setPath(tape.path());
  set_run(out, explanation.run, calls);
  set_lacks(out, explanation.run.metrics.known_resident);
  if (tape.summary()) set_inner_allocators(out, tape.summary()->inner_allocators);
  set_moment(out.initMoment(), explanation.moment);
  set_state(out.initState(), state.snapshot, &*state.account);
  set_blocks(out.getState(), state.snapshot);
  set_hole_sizes(out, *state.account);
  set_estimates(out, estimates_of(explanation));
  const std::vector<Hole> holes = find_holes(picture);
  const std::vector<Hole> largest = largest_holes(holes, options.min_bytes, options.top);
  auto list = out.initLargestHoles(static_cast<unsigned>(largest.size()));
  for (unsigned i = 0; i < list.size(); ++i) set_hole(list[i], picture, largest[i], calls);
  const std::vector<PinGroup> groups = rank_pins(picture, holes, options.top);
  std::vector<PinCallers> callers;
  if (calls != nullptr) callers = pin_callers(picture, groups, *calls);
  auto pins = out.initPins(static_cast<unsigned>(groups.size()));
  for (unsigned i = 0; i < pins.size(); ++i) {
    set_pins(pins[i], groups[i]);
    if (calls == nullptr) continue;
    set_callers(pins[i], callers[i], *calls);
  }
  if (calls == nullptr) return;
  std::vector<HeapSite> sites = heap_sites(picture, holes, *calls);
  sites.resize(std::min(sites.size(), options.most_sites));
  set_sites(out, sites, calls->sites());
}

}  // namespace

base::Result<std::string> explanation_json(const schema::TapeReader& tape,
                                           const Explanation& explanation,
                                           const HolesOptions& options, const CallSites* sites) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the explanation as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto root = message.initRoot<wire::Explanation>();
                            set_explanation(root, tape, explanation, options, sites);
                            return schema::json_text(root.asReader());
                          });
}

}  // namespace heaptape::replayer
