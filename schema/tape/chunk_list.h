// Which chunks a tape has, and which events they hold. docs/tape-format.md, "File".
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "schema/tape/damage.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/tape_file.h"

namespace heaptape::schema {

// The chunks of a tape behind its preamble, in the order of the file. Believes the trailer and the
// index where both are whole, and otherwise walks from chunk to chunk, over damage too. So what it
// returns may still be wrong or overlap: the reader checks each chunk against its own bytes.
base::Result<std::vector<ChunkRef>> list_chunks(const TapeFile& file, DamageLog& damage);

// Leaves out event chunks that go back behind the events before them, and notes the events that are
// missing between two. Returns how many events the tape counts, the missing ones included.
base::Result<uint64_t> check_sequence(std::vector<ChunkRef>& chunks, DamageLog& damage);

}  // namespace heaptape::schema
