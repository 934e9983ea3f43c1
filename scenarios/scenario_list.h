// The scenarios, one function each; a source file holds those that tell one story.
// docs/scenarios/ has a page on each.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// basic.cc: what benchmarks and first questions need.

// `count` blocks of `size` bytes, allocated one after another and, with `free`, given back.
Scenario fill_scenario();
// Random mallocs and frees over a table of slots, half and half: the loop that recorders are timed
// with.
Scenario random_slots_scenario();
// One block, resized from size to size.
Scenario resize_scenario();

// manifest_patching.cc: the clone of a large repository with git-cinnabar 0.4, which left glibc
// holding three times the memory that was in use.
Scenario manifest_patching_scenario();

// sliver_pin.cc: a block of 232 bytes behind a long string, and the next string 339 bytes too large
// for the hole.
Scenario sliver_pin_scenario();

// mmap_threshold.cc: which large blocks glibc maps, and how that changes with what was freed.
Scenario mmap_threshold_scenario();

// cvs.cc: a file on its way through CVS 1.12: a descriptor and a page-aligned block for each page.
Scenario cvs_pagealign_scenario();
// The same with what CVS had before, and OpenBSD's CVS has still: blocks by sixteens, which go back
// to a free list and never to malloc.
Scenario openbsd_cvs_scenario();

// pagealign_bench.cc: gnulib's own benchmark, blocks of one, two and three pages that stay.
Scenario pagealign_bench_scenario();

// lmdb_synthetic.cc: page traffic of a copy-on-write B-tree for model:lmdb, where blocks are pages
// and free(NULL) ends a transaction. A free list of so many pages, in records of equal length, that
// no brick fits into; then bricks.
Scenario lmdb_synthetic_scenario();
// lmdb_dust_bricks.cc: small values that leave their pages all over the file, then large ones: the
// published benchmark.
Scenario lmdb_dust_bricks_scenario();

// large_blocks.cc: large blocks that come and go, what a cache of freed mappings is for. calloc and
// free of one size, again and again.
Scenario calloc_loop_scenario();
// Rounds of blocks of different sizes, freed in the order in which they were allocated.
Scenario ring_mix_scenario();

// fleet_like.cc: sizes and lifetimes as published for the programs of a large fleet of servers.
Scenario fleet_like_scenario();

}  // namespace heaptape::scenarios
