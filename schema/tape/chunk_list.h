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
  // In the order of the file. The saved parts of an unfinished tape's last chunk come last, as one
  // chunk of kind kPart at the offset of the first.
  std::vector<ChunkRef> chunks;
  // For an unfinished tape, where its whole chunks end; nothing for a finished one.
  std::optional<uint64_t> cut_at;
  std::vector<uint64_t> tail_words;  // the EventChunk message of those parts
};

// The chunks of a tape after its preamble. Trusts the trailer and the index if both are whole, and
// otherwise walks from chunk to chunk, skipping damage. The list may still be wrong, and chunks may
// overlap: the reader checks each chunk against its own bytes. In an unfinished tape, finds the
// parts saved last, even while the tape grows, and updates file.bytes().
base::Result<TapeOutline> outline_of(TapeFile& file, DamageLog& damage);

// Omits event chunks that begin before the previous one ends, and notes the events that are missing
// between two; `first` is the number of the first one. Returns how many events the tape has,
// including the missing ones.
base::Result<uint64_t> check_sequence(std::vector<ChunkRef>& chunks, uint64_t first,
                                      DamageLog& damage);

}  // namespace heaptape::schema
