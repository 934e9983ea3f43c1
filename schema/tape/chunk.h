// One chunk of a tape: a 32-byte header, then one zstd frame around one Cap'n Proto message.
// docs/tape-format.md, "Chunks".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "schema/tape/tape_format.h"

namespace heaptape::schema {

uint32_t crc32_of(std::span<const uint8_t> bytes);

struct ChunkHeader {
  ChunkKind kind = ChunkKind::kEvents;  // may be a kind this version does not know
  uint32_t payload_bytes = 0;
  uint32_t event_count = 0;
  uint64_t first_event = 0;
  uint32_t payload_crc32 = 0;
};

using ChunkHeaderBytes = std::array<uint8_t, kChunkHeaderBytes>;

ChunkHeaderBytes pack(const ChunkHeader& header);
// Nothing when the marker, the checksum or a limit says that these bytes are not a chunk header.
std::optional<ChunkHeader> unpack_chunk_header(std::span<const uint8_t, kChunkHeaderBytes> bytes);

std::array<uint8_t, kPreambleBytes> pack_preamble();
// Tells a foreign file, damage and a newer major version apart.
base::Status check_preamble(std::span<const uint8_t> bytes);

std::array<uint8_t, kTrailerBytes> pack_trailer(uint64_t index_offset);
// The offset of the index chunk, or nothing when these bytes are not a trailer.
std::optional<uint64_t> unpack_trailer(std::span<const uint8_t, kTrailerBytes> bytes);

// The zstd level of tapes.
inline constexpr int kTapeLevel = 1;

// Compresses messages into zstd frames. Takes about 1 MiB once it is used; serves any number of
// tapes. One thread.
class FrameCompressor {
 public:
  explicit FrameCompressor(int level = kTapeLevel);
  ~FrameCompressor();
  FrameCompressor(const FrameCompressor&) = delete;
  FrameCompressor& operator=(const FrameCompressor&) = delete;

  // The frame stays until the next call.
  std::span<const uint8_t> compress(std::span<const uint64_t> words);
  // The size of `bytes` as a frame of its own: for choosing between two encodings.
  size_t measure(std::span<const uint8_t> bytes) { return compress_bytes(bytes).size(); }

 private:
  struct Context;

  std::span<const uint8_t> compress_bytes(std::span<const uint8_t> bytes);

  std::unique_ptr<Context> context_;
  std::vector<uint8_t> frame_;
};

// The message in a frame, refusing one that would not fit kMaxMessageBytes.
base::Result<std::vector<uint64_t>> decompress_frame(std::span<const uint8_t> frame);

}  // namespace heaptape::schema
