// Which call sites account for what changed between two tapes. docs/metrics.md, "Sites of two
// reports".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/report/site_figures.h"

namespace heaptape::replayer {

// Of a function, or of all of a module whose functions are not known. The place is that of the new
// report, or where it has none that of the base.
struct SiteChange {
  schema::CallSite place;  // of its lines the one that changed most; its bytes say nothing
  uint64_t base = 0;       // the sums of its lines
  uint64_t now = 0;

  // Of a change from `base_total` to `now_total`, which must differ: negative for a site that
  // changed the other way. Over all sites the shares add up to 1.
  double share(uint64_t base_total, uint64_t now_total) const;
};

// Of one number of all sites, which changed.
struct SiteChanges {
  std::string name;   // in SiteTotals of report.capnp: "peakBytes", "liveBytes", "askedBytes"
  std::string words;  // "bytes at the peak"
  uint64_t base = 0;  // of all sites, those that the reports do not list too
  uint64_t now = 0;
  std::vector<SiteChange> sites;  // that changed, by their shares, the greatest first
};

// What changed of the bytes at the peak, at the end and asked for, in this order.
std::vector<SiteChanges> diff_sites(const schema::SiteFigures& base,
                                    const schema::SiteFigures& now);

// A module of which one report knows functions and the other has sites without: they cannot be
// compared. Empty: there is none.
std::string module_known_once(const schema::SiteFigures& base, const schema::SiteFigures& now);

// "lex (lex.h:3)", fit for a column: with a short name of the function.
std::string short_text(const schema::CallSite& place);

// The sentence that names the first site that has a share of the change; empty if none has.
std::string culprit_text(const SiteChanges& changes);

}  // namespace heaptape::replayer
