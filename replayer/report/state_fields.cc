#include "replayer/report/state_fields.h"

#include "replayer/report/process_fields.h"
#include "replayer/text/metric_text.h"

#include <algorithm>

namespace heaptape::replayer {

namespace wire = schema::wire;

// The share of the committed memory that the program did not ask for.
double fragmentation(uint64_t live_bytes, uint64_t committed_bytes) {
  return committed_bytes == 0 ? 0 : 1 - ratio(live_bytes, committed_bytes);
}

void set_holes(wire::Holes::Builder out, const HoleStats& holes) {
  out.setCount(holes.count);
  out.setBytes(holes.bytes);
  out.setLargest(holes.largest);
  out.setOver64KiB(holes.over_64_kib);
  out.setOver1MiB(holes.over_1_mib);
  out.setOver8MiB(holes.over_8_mib);
  out.setTopBytes(holes.top_bytes);
  const auto filled = std::ranges::count_if(holes.histogram, &HoleBucket::count);
  auto buckets = out.initHistogram(static_cast<unsigned>(filled));
  unsigned next = 0;
  for (uint32_t log2 = 0; log2 < holes.histogram.size(); ++log2) {
    if (holes.histogram[log2].count == 0) continue;
    buckets[next].setLog2Size(log2);
    buckets[next].setCount(holes.histogram[log2].count);
    buckets[next++].setBytes(holes.histogram[log2].bytes);
  }
}

namespace {

void set_account(wire::Account::Builder out, const Account& account) {
  out.setMetadataBytes(account.metadata_bytes);
  out.setCachedBytes(account.cached_bytes);
  out.setHoleBytes(account.hole_bytes);
  out.setTopBytes(account.top_bytes);
  out.setReturnedBytes(account.returned_bytes);
  out.setUntouchedBytes(account.untouched_bytes);
  out.setUnexplainedBytes(account.unexplained_bytes);
  out.setPurgeableBytes(account.purgeable_bytes);
  out.setTrimmableBytes(account.trimmable_bytes.value_or(0));
  if (!account.late) return;
  auto late = out.initLate();
  late.setUnseenBytes(account.late->unseen_bytes);
  late.setOpenHoles(account.late->open_holes);
  late.setOpenHoleBytes(account.late->open_hole_bytes);
}

}  // namespace

void set_moment(wire::Moment::Builder out, const Moment& moment) {
  out.setName(moment.name);
  out.setAt(moment.event);
  out.setTimeNs(moment.time_ns.value_or(0));
  if (moment.process) set_process(out.initProcess(), *moment.process);
}

void set_state(wire::State::Builder out, const Snapshot& state, const Account* account) {
  out.setAt(state.at);
  out.setTimeNs(state.time_ns.value_or(0));
  out.setLiveCount(state.live.live_count);
  out.setLiveBytes(state.live.live_bytes);
  out.setCommittedBytes(state.committed_bytes);
  out.setResidentBytes(state.resident_bytes);
  out.setCumulativeBytesUpper(state.live.cumulative_bytes_upper);
  out.setCumulativeBytesLower(state.live.cumulative_bytes_lower);
  out.setFragmentation(fragmentation(state.live.live_bytes, state.committed_bytes));
  out.setTemporaries(state.live.temporaries);
  if (account != nullptr) set_account(out.initAccount(), *account);
}

void set_blocks(wire::State::Builder out, const Snapshot& state) {
  out.setUsableBytes(state.usable_bytes);
  out.setSlackBytes(state.slack_bytes());
  out.setResidentHoleBytes(state.resident_hole_bytes);
  set_holes(out.initHoles(), state.holes);
}

void set_cohorts(capnp::List<wire::ProgramInfo::Cohort>::Builder list,
                 const std::vector<Cohort>& cohorts) {
  for (unsigned i = 0; i < list.size(); ++i) {
    const Cohort& cohort = cohorts[i];
    list[i].setSizeBytes(cohort.size_bytes);
    list[i].setOtherSizes(cohort.is_other_sizes);
    list[i].setWindow(cohort.window);
    list[i].setCount(cohort.count);
    list[i].setBytes(cohort.bytes);
    list[i].setFirstBirth(cohort.first_birth);
    list[i].setLastBirth(cohort.last_birth);
  }
}

void set_block(wire::Block::Builder out, const LiveBlock& block) {
  out.setAddress(block.address);
  out.setRequestedBytes(block.requested_bytes);
  out.setUsableBytes(block.usable_bytes);
  out.setBirth(block.birth);
  out.setThread(block.thread);
}

void set_heap_growth(wire::HeapGrowth::Builder out, const HeapGrowth& growth) {
  out.setAt(growth.event);
  out.setGrowthBytes(growth.growth_bytes);
  out.setRequestBytes(growth.request_bytes);
  out.setOwnMapping(growth.is_own_mapping);
  out.setLargestHoleBytes(growth.largest_hole_bytes);
  out.setShortBytes(growth.short_bytes());
  out.setFreeBytes(growth.free_bytes);
  if (growth.pin) set_block(out.initPin(), *growth.pin);
  out.setGivenBackAt(growth.given_back_at);
  if (!growth.rule.empty()) out.setRule(growth.rule);
}

void set_action(wire::Action::Builder out, const ActionResult& action) {
  out.setAction(action.action);
  out.setAt(action.at);
  out.setCommittedBytesBefore(action.before.committed_bytes);
  out.setCommittedBytesAfter(action.after.committed_bytes);
  out.setResidentBytesBefore(action.before.resident_bytes);
  out.setResidentBytesAfter(action.after.resident_bytes);
  out.setElapsedNs(action.elapsed_ns);
}

}  // namespace heaptape::replayer
