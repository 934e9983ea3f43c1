// What a tape says of itself, for Python.
#pragma once

#include <nanobind/nanobind.h>

#include "schema/tape/tape_reader.h"

namespace heaptape::python {

// Of header and summary, with the names of `heaptape info --json`. The summary's are missing in one
// that is not finished.
nanobind::dict tape_facts(const schema::TapeReader& tape);

// What reading left out so far.
nanobind::list damage_list(const schema::TapeReader& tape);

}  // namespace heaptape::python
