#include <capnp/message.h>

#include "replayer/report/site_fields.h"
#include "replayer/report/site_stats.h"
#include "replayer/report/state_fields.h"
#include "schema/json_text.h"
#include "schema/kj_guard.h"

namespace heaptape::replayer {

namespace {

namespace wire = schema::wire;

void set_heap(wire::SiteStats::SiteHeap::Builder out, const HeapSite& site) {
  out.setBlocks(site.blocks);
  out.setLiveBytes(site.live_bytes);
  out.setSlackBytes(site.slack_bytes);
  out.setHoleBytes(site.hole_bytes);
  out.setResidentHoleBytes(site.resident_hole_bytes);
  if (site.errors != HeapErrors()) set_heap_errors(out.initStandardErrors(), site);
}

void set_heap(wire::SiteStats::Heap::Builder out, const HeapOfSites& heap) {
  out.setLabel(heap.label);
  out.setBackend(heap.backend);
  set_moment(out.initMoment(), heap.moment);
  set_heap(out.initTotal(), heap.total);
  out.setSlackUnknown(!heap.knows_slack);
  out.setPinnedUnknown(!heap.knows_pinned);
}

void set_sites(wire::SiteStats::Builder stats, const SiteAnswer& answer) {
  const SiteTable& table = answer.table;
  set_site_totals(stats.initTotal(), table.total);
  auto list = stats.initSites(static_cast<unsigned>(table.rows.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    set_site(list[i], table.rows[i], answer.sites);
    if (answer.heap == nullptr) continue;
    set_heap(list[i].initHeap(), answer.heap->by_site[table.rows[i].site]);
  }
  if (answer.heap != nullptr) set_heap(stats.initHeap(), *answer.heap);
  if (table.sampled) set_sampling(stats.initSampling(), *table.sampled);
}

}  // namespace

base::Result<std::string> sites_json(const schema::TapeReader& tape, const SiteAnswer& answer) {
  return schema::guard_kj(base::ErrorCode::kIo, "cannot write the sites as JSON",
                          [&]() -> base::Result<std::string> {
                            capnp::MallocMessageBuilder message;
                            auto stats = message.initRoot<wire::SiteStats>();
                            stats.setVersion(wire::REPORT_VERSION);
                            stats.setPath(tape.path());
                            stats.setEvents(tape.events());
                            stats.setPeakAt(answer.table.peak_at);
                            set_sites(stats, answer);
                            return schema::json_text(stats.asReader());
                          });
}

}  // namespace heaptape::replayer
