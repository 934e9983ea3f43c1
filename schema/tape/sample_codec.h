// Samples of the process, to and from their message. Only the .cc files that build or read such
// messages include this.
#pragma once

#include "schema/tape/event.h"
#include "schema/tape/tape.capnp.h"

namespace heaptape::schema {

void write_sample(wire::ProcessSample::Builder out, const ProcessSample& sample);

// Leaves out regions beyond the address space. Throws kj::Exception on damage: use inside guard_kj.
ProcessSample read_sample(wire::ProcessSample::Reader in);

}  // namespace heaptape::schema
