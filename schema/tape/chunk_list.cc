#include "schema/tape/chunk_list.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace heaptape::schema {
namespace {

using Chunks = std::vector<ChunkRef>;

std::optional<uint64_t> find_index(const TapeFile& file) {
  std::array<uint8_t, kTrailerBytes> trailer{};
  if (file.bytes() < kPreambleBytes + kTrailerBytes) return std::nullopt;
  if (!file.read_at(file.bytes() - kTrailerBytes, trailer)) return std::nullopt;
  return unpack_trailer(trailer);
}

// What the index at `offset` lists. Nothing if it is damaged or does not end at the trailer.
std::optional<Chunks> load_index(const TapeFile& file, uint64_t offset) {
  const auto frame = file.load_frame({offset, ChunkKind::kIndex, 0, 0});
  if (!frame.ok()) return std::nullopt;
  if (offset + kChunkHeaderBytes + frame->size() + kTrailerBytes != file.bytes()) {
    return std::nullopt;
  }
  const auto words = decompress_frame(*frame);
  if (!words.ok()) return std::nullopt;
  auto index = decode_index(*words);
  if (!index.ok()) return std::nullopt;
  return std::move(*index);
}

// Walks from chunk to chunk up to the byte `end`.
base::Result<Chunks> walk(const TapeFile& file, uint64_t end, DamageLog& damage) {
  Chunks chunks;
  uint64_t at = kPreambleBytes;
  while (at < end) {
    const auto header = file.chunk_header_at(at);
    const bool has_room = end - at >= kChunkHeaderBytes;
    if (header && has_room && header->payload_bytes <= end - at - kChunkHeaderBytes) {
      chunks.push_back({at, header->kind, header->event_count, header->first_event});
      at += kChunkHeaderBytes + header->payload_bytes;
      continue;
    }
    const uint64_t next = file.find_chunk(at + 1, end);
    const bool is_cut = header.has_value() && next == end;
    HEAPTAPE_RETURN_IF_ERROR(
        damage.note({at, next - at, is_cut ? header->event_count : 0,
                     is_cut ? "the file ends inside this chunk" : "these bytes are not a chunk"}));
    at = next;
  }
  return chunks;
}

// A recording that was cut short: its damage may reach the end of the file, and is where the end is
// missed.
base::Result<Chunks> walk_unfinished(const TapeFile& file, DamageLog& damage) {
  HEAPTAPE_ASSIGN_OR_RETURN(auto chunks, walk(file, file.bytes(), damage));
  const uint64_t end = damage.list().empty() ? file.bytes() : damage.list().back().offset;
  HEAPTAPE_RETURN_IF_ERROR(damage.note(
      {std::min(end, file.bytes()), 0, 0, "its end is missing, so the recording was cut short"}));
  return chunks;
}

}  // namespace

base::Result<Chunks> list_chunks(const TapeFile& file, DamageLog& damage) {
  const std::optional<uint64_t> index_offset = find_index(file);
  if (!index_offset) return walk_unfinished(file, damage);
  if (auto index = load_index(file, *index_offset)) return std::move(*index);
  HEAPTAPE_RETURN_IF_ERROR(damage.note({*index_offset, 0, 0, "its index is damaged"}));
  return walk(file, file.bytes() - kTrailerBytes, damage);
}

base::Result<uint64_t> check_sequence(Chunks& chunks, DamageLog& damage) {
  Chunks in_order;
  uint64_t events = 0;
  uint64_t previous_offset = 0;
  for (const ChunkRef& chunk : chunks) {
    if (chunk.kind == ChunkKind::kEvents) {
      if (chunk.first_event < events || chunk.first_event > UINT64_MAX - chunk.event_count) {
        HEAPTAPE_RETURN_IF_ERROR(
            damage.note({chunk.offset, 0, chunk.event_count, "its events are out of order"}));
        continue;
      }
      const uint64_t missing = chunk.first_event - events;
      // Damage that the walk met between two chunks explains what is missing there.
      if (missing != 0 && !damage.blame(previous_offset, chunk.offset, missing)) {
        HEAPTAPE_RETURN_IF_ERROR(
            damage.note({chunk.offset, 0, missing, "the events before this chunk are missing"}));
      }
      events = chunk.first_event + chunk.event_count;
      previous_offset = chunk.offset;
    }
    in_order.push_back(chunk);
  }
  chunks = std::move(in_order);
  return events;
}

}  // namespace heaptape::schema
