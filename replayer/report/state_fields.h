// Moments, the state of a run at one, and what belongs to it, as the fields of report.capnp. Pulls
// in generated code: for the .cc files that build reports. Call these inside guard_kj.
#pragma once

#include <vector>

#include "replayer/metrics/cohorts.h"
#include "replayer/metrics/run_metrics.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// What of the committed memory holds nothing that the program asked for.
double fragmentation(uint64_t live_bytes, uint64_t committed_bytes);

void set_moment(schema::wire::Moment::Builder out, const Moment& moment);
void set_holes(schema::wire::Holes::Builder out, const HoleStats& holes);

// All but what is known of blocks: that is for set_blocks. `account` may be null.
void set_state(schema::wire::State::Builder out, const Snapshot& state, const Account* account);
void set_blocks(schema::wire::State::Builder out, const Snapshot& state);

// As many as `list` has room for.
void set_cohorts(capnp::List<schema::wire::ProgramInfo::Cohort>::Builder list,
                 const std::vector<Cohort>& cohorts);

void set_block(schema::wire::Block::Builder out, const LiveBlock& block);
void set_heap_growth(schema::wire::HeapGrowth::Builder out, const HeapGrowth& growth);
void set_action(schema::wire::Action::Builder out, const ActionResult& action);

}  // namespace heaptape::replayer
