#include "replayer/report/tape_stats.h"

#include <capnp/message.h>

#include <algorithm>
#include <utility>

#include "base/display_text.h"
#include "replayer/engine/resolved_tape.h"
#include "replayer/report/run_fields.h"
#include "replayer/report/site_fields.h"
#include "replayer/report/tape_profile_fields.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

void set_stats(wire::TapeStats::Builder stats, const schema::TapeReader& tape,
               const TapeCounts& counts, const NamedCallers* callers) {
  const LiveMetrics& live = counts.resolver.live();
  stats.setVersion(wire::REPORT_VERSION);
  stats.setPath(tape.path());
  stats.setEvents(tape.events());
  stats.setThreads(tape.summary() ? tape.summary()->threads : 0);
  stats.setDurationNs(tape.summary() ? tape.summary()->duration_ns : 0);
  if (tape.summary() && !tape.summary()->thread_list.empty()) {
    const auto& threads = tape.summary()->thread_list;
    auto names = stats.initThreadList(static_cast<unsigned>(threads.size()));
    for (unsigned i = 0; i < names.size(); ++i) {
      names[i].setId(threads[i].id);
      names[i].setName(base::valid_utf8(threads[i].name));
    }
  }
  const auto set_calls = [](auto list, const std::vector<NamedCalls>& calls) {
    for (unsigned i = 0; i < list.size(); ++i) {
      list[i].setOp(calls[i].name);
      list[i].setCount(calls[i].count);
    }
  };
  const std::vector<NamedCalls> calls = calls_by_name(counts);
  set_calls(stats.initCalls(static_cast<unsigned>(calls.size())), calls);
  const std::vector<NamedCalls> beside = calls_beside_malloc(counts);
  set_calls(stats.initCallsBesideMalloc(static_cast<unsigned>(beside.size())), beside);
  stats.setFailedCalls(counts.resolver.skipped().failed_calls);
  stats.setNullFrees(counts.null_frees);
  stats.setUnknownFrees(counts.resolver.skipped().unknown_frees);
  stats.setTemporaries(live.values().temporaries);
  stats.setLiveCount(live.values().live_count);
  stats.setLiveBytes(live.values().live_bytes);
  set_peak(stats.initPeakLiveCount(), live.live_count_peak());
  set_peak(stats.initPeakLiveBytes(), live.live_bytes_peak());
  stats.setCumulativeBytesUpper(live.values().cumulative_bytes_upper);
  stats.setCumulativeBytesLower(live.values().cumulative_bytes_lower);
  set_profile(stats, counts, callers == nullptr ? nullptr : &callers->births);
  const schema::TapeOrigin& origin = tape.header().origin;
  if (!origin.format.empty()) set_import(stats.initImport(), origin);
  if (tape.summary()) set_inner_allocators(stats, tape.summary()->inner_allocators);
  if (origin.lacks(schema::Absent::kThreads)) stats.disownPerThread();
  if (origin.lacks(schema::Absent::kAddresses)) stats.disownResizes();
  if (callers == nullptr) return;
  set_tape_sites(stats.initSites(), callers->table, callers->births.sites());
}

}  // namespace

base::Status count_tape(schema::TapeReader& tape, TapeCounts& counts,
                        const std::function<void(double)>& progress, StackProfile* stacks) {
  const auto count = [&counts, stacks](const schema::EventBatch& read,
                                       const ResolvedBatch& resolved) {
    for (const schema::Event& event : read.events) {
      ++counts.calls[static_cast<uint8_t>(event.op)];
      counts.null_frees +=
          event.freed_address == 0 && schema::op_info(event.op).kind == schema::OpKind::kRelease;
    }
    for (const auto& call : read.mapped) ++counts.mapping_calls[static_cast<uint8_t>(call.op)];
    for (const auto& call : read.steering) ++counts.steering_calls[static_cast<uint8_t>(call.op)];
    counts.profile.add(read, resolved.first_event, resolved.ops);
    if (stacks != nullptr) stacks->add(read, resolved.first_event, resolved.ops);
  };
  constexpr uint64_t kAll[] = {UINT64_MAX};
  return for_each_resolved(tape, kAll, counts.resolver, progress, count);
}

base::Status count_stacks(schema::TapeReader& tape, StackProfile& profile,
                          const std::function<void(double)>& progress, uint64_t from,
                          uint64_t until) {
  SlotResolver resolver(std::min(tape.events(), until));
  const uint64_t before = from - 1;
  const uint64_t stops[] = {before, until};
  return for_each_resolved(tape, stops, resolver, progress,
                           [&](const schema::EventBatch& read, const ResolvedBatch& resolved) {
                             if (resolved.first_event == before && before != 0)
                               profile.begin_range(before);
                             profile.add(read, resolved.first_event, resolved.ops);
                           });
}

std::vector<NamedCalls> calls_by_name(const TapeCounts& counts) {
  std::vector<NamedCalls> named;
  for (size_t stored = 0; stored < counts.calls.size(); ++stored) {
    if (counts.calls[stored] == 0) continue;
    named.push_back({schema::op_info(static_cast<schema::Op>(stored)).name, counts.calls[stored]});
  }
  return named;
}

std::vector<NamedCalls> calls_beside_malloc(const TapeCounts& counts) {
  std::vector<NamedCalls> named;
  const auto add = [&named](const auto& calls, auto name_of) {
    for (size_t stored = 0; stored < calls.size(); ++stored) {
      if (calls[stored] != 0) named.push_back({name_of(stored), calls[stored]});
    }
  };
  add(counts.mapping_calls, schema::mapping_op_name);
  add(counts.steering_calls, [](size_t stored) {
    return schema::steering_info(static_cast<schema::SteeringOp>(stored)).name;
  });
  return named;
}

std::vector<uint64_t> named_births(const TapeCounts& counts) {
  const GrowthChains& chains = counts.resolver.program().growth_chains();
  std::vector<uint64_t> births;
  for (const auto* list : {&chains.costliest(), &chains.longest()}) {
    for (const GrowthChain& chain : *list) births.push_back(chain.birth);
  }
  return births;
}

base::Result<std::string> stats_json(const schema::TapeReader& tape, const TapeCounts& counts,
                                     const NamedCallers* callers) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the counts as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto stats = message.initRoot<wire::TapeStats>();
                            set_stats(stats, tape, counts, callers);
                            return schema::json_text(stats.asReader());
                          });
}

}  // namespace heaptape::replayer
