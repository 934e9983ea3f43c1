// Which call sites account for the change between two reports. docs/metrics.md, "Sites of two
// reports".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/report/site_figures.h"
#include "schema/report/stack_tree.h"

namespace heaptape::replayer {

// A function, or a whole module whose functions are not known. The place is from the new report, or
// from the base if the new one has none.
struct SiteChange {
  schema::CallSite place;  // the line that changed most; its bytes mean nothing
  uint64_t base = 0;       // the sum over its lines
  uint64_t now = 0;
  uint64_t base_error = 0;  // standard errors of these; 0 where they are exact
  uint64_t now_error = 0;

  // The standard error of the change: the two tapes were sampled independently.
  uint64_t error() const;

  // Share of a change from `base_total` to `now_total`, which must differ: negative for a site that
  // changed the other way. The shares of all sites add up to 1.
  double share(uint64_t base_total, uint64_t now_total) const;
};

// A change of one number over all sites.
struct SiteChanges {
  std::string name;   // in SiteTotals of report.capnp: "peakBytes", "liveBytes", "askedBytes"
  std::string words;  // "bytes at the peak"
  std::string verb;   // "has", "pins"
  std::string where;  // "at the peak"
  uint64_t base = 0;  // for all sites, including unlisted ones
  uint64_t now = 0;
  std::vector<SiteChange> sites;  // those that changed, greatest share first
  uint64_t base_error = 0;        // standard errors of the sums
  uint64_t now_error = 0;
};

// The changes in bytes at the peak, at the end and asked for, in this order.
std::vector<SiteChanges> diff_sites(const schema::SiteFigures& base,
                                    const schema::SiteFigures& now);

// The change of the resident bytes in holes of a run, by the sites of the blocks that pin them, at
// the state of the run ("atPlateau") for which each tree has them; nothing if one has not.
std::optional<SiteChanges> diff_pinning_sites(const schema::StackTree& base,
                                              const std::string& base_label,
                                              const schema::StackTree& now,
                                              const std::string& label, const std::string& state);

// A module whose functions are known in only one of the reports, so that its sites cannot be
// compared. Empty if there is none.
std::string module_known_once(const schema::SiteFigures& base, const schema::SiteFigures& now);

// "lex (lex.h:3)", fit for a column: with the function's short name.
std::string short_text(const schema::CallSite& place);

// "remember (cache.c:22) has 390.7 KiB more at the peak, all other sites 200 B less": the first
// site, if it changed as the whole did, and by two standard errors; otherwise empty.
std::string culprit_text(const SiteChanges& changes);

}  // namespace heaptape::replayer
