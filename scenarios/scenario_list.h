// The scenarios, one function each. Scenarios that tell one story share a source file;
// docs/scenarios/ has a page on each.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// basic.cc: for benchmarks and first questions.

// `count` blocks of `size` bytes, allocated one after another and, with `free`, freed.
Scenario fill_scenario();
// Random mallocs and frees over a table of slots, half and half: the loop used to time recorders.
Scenario random_slots_scenario();
// One block that grows by realloc, step by step.
Scenario resize_scenario();

// manifest_patching.cc: a clone of a large repository with git-cinnabar 0.4, which left glibc
// holding three times the memory in use.
Scenario manifest_patching_scenario();

// sliver_pin.cc: a block of 232 bytes after a long string; the next string is 339 bytes too large
// for the hole.
Scenario sliver_pin_scenario();

// mmap_threshold.cc: which large blocks glibc maps, and how frees change that.
Scenario mmap_threshold_scenario();

// cvs.cc: CVS 1.12 reads a file: a descriptor and a page-aligned block for each page.
Scenario cvs_pagealign_scenario();
// The same in CVS 1.11, as in OpenBSD: buffers allocated sixteen at a time, which return to a free
// list and never to malloc.
Scenario openbsd_cvs_scenario();

// pagealign_bench.cc: gnulib's own benchmark: blocks of one, two and three pages, never freed.
Scenario pagealign_bench_scenario();

// lmdb_synthetic.cc: page traffic of a copy-on-write B-tree for model:lmdb, where blocks are pages
// and free(NULL) ends a transaction. A long list of free pages, in records of equal length, with no
// run long enough for a brick; then bricks.
Scenario lmdb_synthetic_scenario();
// lmdb_dust_bricks.cc: the published benchmark: small values that leave free pages all over the
// file, then large ones.
Scenario lmdb_dust_bricks_scenario();

// large_blocks.cc: for caches of freed mappings. calloc and free of one size, repeatedly.
Scenario calloc_loop_scenario();
// Rounds of blocks of different sizes, freed in the order they were allocated.
Scenario ring_mix_scenario();

// fleet_like.cc: sizes and lifetimes published for the programs of a large fleet of servers.
Scenario fleet_like_scenario();

// clone_like.cc: the calls of the longest run described in public, 2.34 billion: hundreds of small
// blocks for each revision, of which two are kept.
Scenario clone_like_scenario();

}  // namespace heaptape::scenarios
