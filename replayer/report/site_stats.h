// What `heaptape stats --by site` prints. docs/metrics.md, "Sites".
#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include "base/result.h"
#include "replayer/report/heap_sites.h"
#include "replayer/sites/site_table.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// What sites are ranked by: a value of the tape, or of a heap.
enum class HeapValue : uint8_t { kPinned, kSlack };
using SiteOrder = std::variant<StackValue, HeapValue>;

uint64_t value_of(const HeapSite& site, HeapValue value);

// All of these are of the same sites.
struct SiteAnswer {
  const SiteTable& table;
  const Sites& sites;
  const HeapOfSites* heap;  // null: not known
};

// Puts the rows in order by the value, the greatest first.
void rank_by_heap(SiteTable& table, const HeapOfSites& heap, HeapValue value);

// The first `top` sites, the others together, and the whole tape, with shares of what the table is
// ordered by. If that is a value of the heap, there must be one.
std::string sites_text(const SiteAnswer& answer, SiteOrder order, size_t top);

// All sites of the table, a line each.
std::string sites_csv(const SiteAnswer& answer);

// SiteStats of report.capnp as JSON. Fails only when it is larger than Cap'n Proto takes.
base::Result<std::string> sites_json(const schema::TapeReader& tape, const SiteAnswer& answer);

}  // namespace heaptape::replayer
