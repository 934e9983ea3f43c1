// Page traffic of a copy-on-write B-tree, as LMDB makes it: blocks are pages and runs of pages, and
// free(NULL) ends a transaction. For model:lmdb; docs/scenarios/lmdb-*.md.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// A free list of so many pages, in records of equal length, that no brick fits into; then bricks.
Scenario lmdb_synthetic_scenario();

// Small values that leave their pages all over the file, then large ones: the published benchmark.
Scenario lmdb_dust_bricks_scenario();

}  // namespace heaptape::scenarios
