// What `heaptape stats --by site` prints. docs/metrics.md, "Sites".
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "replayer/sites/site_table.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// The first `top` sites, the others together, and the whole tape, with shares of what the table is
// ordered by.
std::string sites_text(const SiteTable& table, const Sites& sites, StackValue order, size_t top);

// All sites of the table, a line each.
std::string sites_csv(const SiteTable& table, const Sites& sites);

// SiteStats of report.capnp as JSON. Fails only when it is larger than Cap'n Proto takes.
base::Result<std::string> sites_json(const schema::TapeReader& tape, const SiteTable& table,
                                     const Sites& sites);

}  // namespace heaptape::replayer
