// The code mappings of a chunk or of a part, to and from their message. Only the .cc files that
// build or read such messages include this.
#pragma once

#include <vector>

#include "schema/tape/stack.h"
#include "schema/tape/tape.capnp.h"

namespace heaptape::schema {

void write_mappings(wire::EventChunk::Builder out, const std::vector<CodeMapping>& mappings);

// Those of addresses that there can be. Throws kj::Exception on damage: use inside guard_kj.
std::vector<CodeMapping> read_mappings(wire::EventChunk::Reader in);

}  // namespace heaptape::schema
