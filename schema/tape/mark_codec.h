// The marks of a chunk or of a part, to and from their message. Only the .cc files that build or
// read such messages include this.
#pragma once

#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/tape.capnp.h"

namespace heaptape::schema {

void write_marks(wire::EventChunk::Builder out, const std::vector<Mark>& marks);

// Those at calls of the chunk, with names that marks can have; others are not ours, and are left
// out. Throws kj::Exception on damage: use inside guard_kj.
std::vector<Mark> read_marks(wire::EventChunk::Reader in);

}  // namespace heaptape::schema
