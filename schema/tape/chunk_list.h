// Which chunks a tape has, and which events they hold. docs/tape-format.md, "File".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "schema/tape/damage.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/tape_file.h"

namespace heaptape::schema {

struct TapeOutline {
  // In the order of the file. What was saved of the chunk that an unfinished tape breaks off in
  // comes last, as one chunk of kind kPart where its parts begin.
  std::vector<ChunkRef> chunks;
  // Of a tape that was not finished, where the bytes end that it would have had finished.
  std::optional<uint64_t> cut_at;
  std::vector<uint64_t> tail_words;  // the EventChunk message of those parts
};

// The chunks of a tape behind its preamble. Believes the trailer and the index where both are
// whole, and otherwise walks from chunk to chunk, over damage too. So what it returns may still be
// wrong or overlap: the reader checks each chunk against its own bytes. Of a tape without an end it
// finds what was saved last, also while that grows: it updates file.bytes().
base::Result<TapeOutline> outline_of(TapeFile& file, DamageLog& damage);

// Leaves out event chunks that go back behind the events before them, and notes the events that are
// missing between two. Returns how many events the tape counts, the missing ones included.
base::Result<uint64_t> check_sequence(std::vector<ChunkRef>& chunks, DamageLog& damage);

}  // namespace heaptape::schema
