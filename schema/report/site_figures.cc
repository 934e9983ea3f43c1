#include "schema/report/site_figures.h"

#include "schema/report/report_figures.h"
#include "schema/report/text_of.h"

namespace heaptape::schema {
namespace {

SiteBytes bytes_of(wire::SiteStats::SiteTotals::Reader totals) {
  return {totals.getPeakBytes(), totals.getLiveBytes(), totals.getAskedBytes()};
}

}  // namespace

// Inside guard_kj, as report_figures.h requires of callers.
SiteFigures figures_of(wire::TapeSites::Reader sites) {
  SiteFigures figures{
      .total = bytes_of(sites.getTotal()), .list = {}, .is_sampled = sites.hasSampling()};
  for (const auto site : sites.getList()) {
    figures.list.push_back({text_of(site.getSite()), text_of(site.getFunction()),
                            text_of(site.getFile()), site.getLine(), text_of(site.getModule()),
                            bytes_of(site.getTotals())});
  }
  return figures;
}

}  // namespace heaptape::schema
