// Call sites as the structs of report.capnp. Includes generated code.
#pragma once

#include <vector>

#include "replayer/report/heap_sites.h"
#include "replayer/sites/site_table.h"
#include "schema/report/report.capnp.h"
#include "schema/tape/size_range.h"

namespace heaptape::replayer {

// Call inside guard_kj: they throw kj::Exception.
void set_site_totals(schema::wire::SiteStats::SiteTotals::Builder out, const StackTotals& totals);
void set_site(schema::wire::SiteStats::Site::Builder out, const SiteRow& row, const Sites& sites);

void set_heap_errors(schema::wire::SiteStats::HeapErrors::Builder out, const HeapSite& site);
// `out` has as many elements as `sizes`.
void set_size_ranges(capnp::List<schema::wire::SizeRange>::Builder out,
                     const std::vector<schema::SizeRange>& sizes);
void set_sampling(schema::wire::SiteStats::Sampling::Builder out, const SampledSites& sampled);

// Lists the top 200 sites of the table by each of: bytes at the peak, bytes at the end, bytes
// requested, temporaries, blocks freed by other threads, bytes copied and bytes mapped. Each is
// listed once, in the order of the table.
void set_tape_sites(schema::wire::TapeSites::Builder out, const SiteTable& table,
                    const Sites& sites);

}  // namespace heaptape::replayer
