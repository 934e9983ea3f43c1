// The small messages of a tape (header, summary, index) to and from words. See tape.capnp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/tape_info.h"

namespace heaptape::schema {

// Where a chunk is and which events it holds.
struct ChunkRef {
  uint64_t offset = 0;
  ChunkKind kind = ChunkKind::kEvents;
  uint32_t event_count = 0;
  uint64_t first_event = 0;

  bool operator==(const ChunkRef&) const = default;
};

// Fail with kIo where Cap'n Proto cannot build the message: no memory, a text of 512 MiB.
base::Result<std::vector<uint64_t>> encode(const TapeHeader& header);
base::Result<std::vector<uint64_t>> encode(const TapeSummary& summary);
base::Result<std::vector<uint64_t>> encode(const std::vector<ChunkRef>& index);
base::Result<std::vector<uint64_t>> encode(const std::vector<ThreadIdentity>& threads);
base::Result<std::vector<uint64_t>> encode(const Inheritance& inheritance);

// Fail with kDamaged; the caller adds the place.
base::Result<TapeHeader> decode_header(std::span<const uint64_t> words);
base::Result<TapeSummary> decode_summary(std::span<const uint64_t> words);
base::Result<std::vector<ChunkRef>> decode_index(std::span<const uint64_t> words);
base::Result<std::vector<ThreadIdentity>> decode_threads(std::span<const uint64_t> words);
base::Result<Inheritance> decode_inheritance(std::span<const uint64_t> words);

}  // namespace heaptape::schema
