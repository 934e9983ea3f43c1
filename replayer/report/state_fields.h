// Moments, and the state of a run at one, as the fields of report.capnp. Includes generated code:
// only for .cc files that build reports. Call these inside guard_kj.
#pragma once

#include <vector>

#include "replayer/metrics/cohorts.h"
#include "replayer/metrics/run_metrics.h"
#include "schema/report/report.capnp.h"

namespace heaptape::replayer {

// The share of the committed memory that the program did not ask for.
double fragmentation(uint64_t live_bytes, uint64_t committed_bytes);

void set_moment(schema::wire::Moment::Builder out, const Moment& moment);
void set_holes(schema::wire::Holes::Builder out, const HoleStats& holes);

// Sets all but the facts about blocks, which set_blocks() adds. `account` may be null.
void set_state(schema::wire::State::Builder out, const Snapshot& state, const Account* account);
void set_blocks(schema::wire::State::Builder out, const Snapshot& state);

// Sets as many as `list` has room for.
void set_cohorts(capnp::List<schema::wire::ProgramInfo::Cohort>::Builder list,
                 const std::vector<Cohort>& cohorts);

void set_block(schema::wire::Block::Builder out, const LiveBlock& block);
void set_heap_growth(schema::wire::HeapGrowth::Builder out, const HeapGrowth& growth);
void set_action(schema::wire::Action::Builder out, const ActionResult& action);

}  // namespace heaptape::replayer
