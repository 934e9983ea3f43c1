#include "schema/report/site_figures.h"

#include "base/display_text.h"
#include "schema/report/report_figures.h"

namespace heaptape::schema {
namespace {

std::string shown_text(capnp::Text::Reader text) {
  return base::display_text({text.begin(), text.size()});
}

SiteBytes bytes_of(wire::SiteStats::SiteTotals::Reader totals) {
  return {totals.getPeakBytes(), totals.getLiveBytes(), totals.getAskedBytes()};
}

}  // namespace

// Inside guard_kj, as report_figures.h requires of callers.
SiteFigures figures_of(wire::TapeSites::Reader sites) {
  SiteFigures figures{
      .total = bytes_of(sites.getTotal()), .list = {}, .is_sampled = sites.hasSampling()};
  for (const auto site : sites.getList()) {
    figures.list.push_back({shown_text(site.getSite()), shown_text(site.getFunction()),
                            shown_text(site.getFile()), site.getLine(),
                            shown_text(site.getModule()), bytes_of(site.getTotals())});
  }
  return figures;
}

}  // namespace heaptape::schema
