// Parts of a page's data: a figure of a run, the facts about the tape, its call sites.
#pragma once

#include <optional>

#include "replayer/report/html/json_writer.h"
#include "replayer/report/report_builder.h"
#include "schema/report/report_metrics.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Writes null if absent.
void write_value(JsonWriter& out, const std::optional<schema::MetricValue>& value);

// The facts about the tape. Writes an object: path, command, duration, losses.
void write_tape(JsonWriter& out, const schema::TapeReader& tape);

// The call sites of a tape for a table. Writes an object: for the top sites by each value, their
// texts, their values as in `stats --by site`, and the names of their functions and modules in the
// tree of stacks.
void write_sites(JsonWriter& out, const RankedSites& sites);

}  // namespace heaptape::replayer
