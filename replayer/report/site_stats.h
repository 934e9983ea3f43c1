// Output of `heaptape stats` about sites, mainly of --by site. docs/metrics.md, "Sites".
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "base/result.h"
#include "replayer/report/heap_sites.h"
#include "replayer/sites/site_table.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// The order of sites: by a value of the tape, or of a heap.
enum class HeapValue : uint8_t { kPinned, kSlack };
using SiteOrder = std::variant<StackValue, HeapValue>;

uint64_t value_of(const HeapSite& site, HeapValue value);

// All members must describe the same sites.
struct SiteAnswer {
  const SiteTable& table;
  const Sites& sites;
  const HeapOfSites* heap;  // null: not known
};

// Sorts the rows by the value, greatest first.
void rank_by_heap(SiteTable& table, const HeapOfSites& heap, HeapValue value);

// The first `top` sites, the others together, and the whole tape, with shares of the ordering
// value. If that is a value of the heap, there must be a heap.
std::string sites_text(const SiteAnswer& answer, SiteOrder order, size_t top, size_t width);

// All sites of the table, a line each.
std::string sites_csv(const SiteAnswer& answer);

// SiteStats of report.capnp as JSON. Fails only if it is too large for Cap'n Proto.
base::Result<std::string> sites_json(const schema::TapeReader& tape, const SiteAnswer& answer);

// For each value, the first few sites with any of it, with their shares of the whole tape.
std::string top_sites_text(const SiteTable& table, const Sites& sites);

}  // namespace heaptape::replayer
