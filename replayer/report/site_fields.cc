#include "replayer/report/site_fields.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "base/display_text.h"

namespace heaptape::replayer {
namespace {

namespace wire = schema::wire;

constexpr size_t kListed = 200;  // by each of these
constexpr uint64_t StackTotals::* kListedBy[] = {
    &StackTotals::peak_bytes,  &StackTotals::live_bytes,      &StackTotals::asked_bytes,
    &StackTotals::temporaries, &StackTotals::freed_by_others, &StackTotals::moved_bytes,
    &StackTotals::mapped_bytes};

void set_place(wire::SiteStats::Site::Builder out, const Site& site) {
  if (site.place != nullptr) {
    out.setModule(base::valid_utf8(site.place->module));
    out.setOffset(site.place->offset);
  }
  if (site.source == nullptr) return;
  out.setFunction(base::valid_utf8(site.source->function));
  out.setFile(base::valid_utf8(site.source->file));
  out.setLine(site.source->line);
}

void set_errors(wire::SiteStats::SiteTotals::Builder out, const StackTotals& totals) {
  if (totals.variances == StackVariances()) return;
  auto errors = out.initStandardErrors();
  errors.setCalls(standard_error(totals, StackValue::kCalls));
  errors.setAskedBytes(standard_error(totals, StackValue::kBytes));
  errors.setPeakBytes(standard_error(totals, StackValue::kPeak));
  errors.setLiveBytes(standard_error(totals, StackValue::kEnd));
}

// By index into the rows of the table.
std::vector<bool> listed_rows(const SiteTable& table) {
  std::vector<bool> listed(table.rows.size());
  std::vector<size_t> ranked(table.rows.size());
  std::iota(ranked.begin(), ranked.end(), size_t{0});
  for (const auto value : kListedBy) {
    std::ranges::stable_sort(ranked, std::greater(),
                             [&table, value](size_t row) { return table.rows[row].totals.*value; });
    for (size_t i = 0; i < std::min(kListed, ranked.size()); ++i) listed[ranked[i]] = true;
  }
  return listed;
}

}  // namespace

void set_site_totals(wire::SiteStats::SiteTotals::Builder out, const StackTotals& totals) {
  out.setCalls(totals.calls);
  out.setAskedBytes(totals.asked_bytes);
  out.setPeakBytes(totals.peak_bytes);
  out.setPeakCount(totals.peak_count);
  out.setLiveBytes(totals.live_bytes);
  out.setLiveCount(totals.live_count);
  out.setTemporaries(totals.temporaries);
  out.setFreedByOthers(totals.freed_by_others);
  out.setMovedBytes(totals.moved_bytes);
  out.setMappedBytes(totals.mapped_bytes);
  set_errors(out, totals);
}

void set_heap_errors(wire::SiteStats::HeapErrors::Builder out, const HeapSite& site) {
  out.setBlocks(site.errors.blocks);
  out.setLiveBytes(site.errors.live_bytes);
  out.setHoleBytes(site.errors.hole_bytes);
  out.setResidentHoleBytes(site.errors.resident_hole_bytes);
}

void set_size_ranges(capnp::List<wire::SizeRange>::Builder out,
                     const std::vector<schema::SizeRange>& sizes) {
  for (unsigned i = 0; i < out.size(); ++i) {
    out[i].setLeast(sizes[i].least);
    out[i].setMost(sizes[i].most);
  }
}

void set_sampling(wire::SiteStats::Sampling::Builder out, const SampledSites& sampled) {
  const std::vector<schema::SizeRange>& sizes = sampled.recording.sizes;
  out.setEveryBytes(sampled.recording.every_bytes);
  if (!sizes.empty()) set_size_ranges(out.initSizes(static_cast<unsigned>(sizes.size())), sizes);
  out.setCalls(sampled.calls);
  set_site_totals(out.initWholeTape(), sampled.whole_tape);
}

void set_site(wire::SiteStats::Site::Builder out, const SiteRow& row, const Sites& sites) {
  out.setSite(sites.text(row.site));
  set_place(out, sites.list()[row.site]);
  set_site_totals(out.initTotals(), row.totals);
  auto lifetimes = out.initLifetimes();
  lifetimes.setBlocks(row.blocks);
  lifetimes.setHasMedian(row.median_lifetime.has_value());
  lifetimes.setMedian(row.median_lifetime.value_or(0));
}

void set_tape_sites(wire::TapeSites::Builder out, const SiteTable& table, const Sites& sites) {
  const std::vector<bool> listed = listed_rows(table);
  auto list = out.initList(static_cast<unsigned>(std::ranges::count(listed, true)));
  StackTotals others = table.left_out;
  unsigned next = 0;
  for (size_t row = 0; row < listed.size(); ++row) {
    if (listed[row]) {
      set_site(list[next++], table.rows[row], sites);
    } else {
      others += table.rows[row].totals;
    }
  }
  out.setPeakAt(table.peak_at);
  set_site_totals(out.initTotal(), table.total);
  set_site_totals(out.initOthers(), others);
  if (table.sampled) set_sampling(out.initSampling(), *table.sampled);
}

}  // namespace heaptape::replayer
