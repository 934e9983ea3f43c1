// Programs that want their memory by whole pages: CVS, with gnulib's pagealign_alloc and without,
// and gnulib's own benchmark. docs/scenarios/ has a page on each.
#pragma once

#include "scenarios/scenario.h"

namespace heaptape::scenarios {

// A file on its way through CVS 1.12: a descriptor and a page-aligned block for each page of it.
Scenario cvs_pagealign_scenario();

// The same with what CVS had before, and OpenBSD's CVS has still: blocks by sixteens, which go back
// to a free list and never to malloc.
Scenario openbsd_cvs_scenario();

// Blocks of one, two and three pages that stay.
Scenario pagealign_bench_scenario();

}  // namespace heaptape::scenarios
