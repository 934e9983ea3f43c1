// The facts about a tape, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "schema/tape/tape_reader.h"

namespace heaptape::python {

// Header and summary, with the names of `heaptape info --json`. An unfinished tape lacks those of
// the summary.
nanobind::dict tape_facts(const schema::TapeReader& tape);

// Parts that reading skipped.
nanobind::list damage_list(const schema::TapeReader& tape);

}  // namespace heaptape::python
