#include "schema/tape/chunk_list.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "schema/tape/event_columns.h"

namespace heaptape::schema {
namespace {

using Chunks = std::vector<ChunkRef>;

constexpr int kMaxAttempts = 10;  // at a consistent view of a tape that grows

std::optional<uint64_t> find_index(const TapeFile& file) {
  std::array<uint8_t, kTrailerBytes> trailer{};
  if (file.bytes() < kPreambleBytes + kTrailerBytes) return std::nullopt;
  if (!file.read_at(file.bytes() - kTrailerBytes, trailer)) return std::nullopt;
  return unpack_trailer(trailer);
}

// The chunks that the index at `offset` lists. Nothing if it is damaged or does not end at the
// trailer.
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

bool has_room(uint64_t at, const ChunkHeader& header, uint64_t end) {
  return end - at >= kChunkHeaderBytes && header.payload_bytes <= end - at - kChunkHeaderBytes;
}

// The next chunk from `from` on that is no part; `end` if there is none.
uint64_t find_whole_chunk(const TapeFile& file, uint64_t from, uint64_t end) {
  for (uint64_t at = from; at < end; ++at) {
    at = file.find_chunk(at, end);
    if (at == end) break;
    const auto header = file.chunk_header_at(at);
    if (!header || header->kind != ChunkKind::kPart) return at;
  }
  return end;
}

struct Walk {
  Chunks chunks;
  uint64_t end;  // of the last chunk that may be whole
};

// Walks from chunk to chunk up to the byte `end`, over damage, and stops before bytes that no chunk
// follows.
base::Result<Walk> walk(const TapeFile& file, uint64_t end, DamageLog& damage) {
  Walk walk{{}, kPreambleBytes};
  const auto take_chunk = [&] {
    const auto header = file.chunk_header_at(walk.end);
    if (!header || header->kind == ChunkKind::kPart || !has_room(walk.end, *header, end)) {
      return false;
    }
    walk.chunks.push_back({walk.end, header->kind, header->event_count, header->first_event});
    walk.end += kChunkHeaderBytes + header->payload_bytes;
    return true;
  };
  while (walk.end < end) {
    if (take_chunk()) continue;
    const uint64_t next = find_whole_chunk(file, walk.end + 1, end);
    if (next == end) break;
    if (take_chunk()) continue;  // written while we searched further on
    HEAPTAPE_RETURN_IF_ERROR(
        damage.note({walk.end, next - walk.end, 0, "these bytes are not a chunk"}));
    walk.end = next;
  }
  return walk;
}

// Joins the parts at or after `from` that continue from `first_event`. Others belong to chunks that
// have been written whole since.
void load_tail(const TapeFile& file, uint64_t from, uint64_t first_event, TapeOutline& outline) {
  PartJoiner joiner(first_event);
  std::optional<uint64_t> first_part;
  uint64_t left_bytes = file.bytes();  // Invariant: the file's size bounds what is read
  uint64_t at = from;
  while ((at = file.find_chunk(at, file.bytes())) < file.bytes()) {
    const uint64_t offset = at++;
    const auto header = file.chunk_header_at(offset);
    if (!header || header->kind != ChunkKind::kPart) continue;
    if (header->first_event != first_event + joiner.events()) continue;
    if (header->payload_bytes > left_bytes) break;
    left_bytes -= header->payload_bytes;
    const auto words =
        file.load_message({offset, header->kind, header->event_count, header->first_event});
    if (!words.ok() || !joiner.add(*words).ok()) continue;
    at = offset + kChunkHeaderBytes + header->payload_bytes;
    if (!first_part) first_part = offset;
  }
  if (!first_part) return;
  auto words = joiner.chunk();
  if (!words.ok()) return;
  outline.chunks.push_back({*first_part, ChunkKind::kPart, joiner.events(), first_event});
  outline.tail_words = std::move(*words);
}

// A writer that is killed, or still at it, may leave the header of its last chunk without all of
// the payload.
void leave_torn_chunk_out(const TapeFile& file, Walk& walk) {
  if (walk.chunks.empty()) return;
  const ChunkKind kind = walk.chunks.back().kind;
  if (kind != ChunkKind::kEvents && kind != ChunkKind::kInheritance &&
      kind != ChunkKind::kKeyframe) {
    return;
  }
  if (file.load_frame(walk.chunks.back()).ok()) return;
  walk.end = walk.chunks.back().offset;
  walk.chunks.pop_back();
}

uint64_t events_of(const Chunks& chunks) {
  const auto last =
      std::ranges::find(chunks.rbegin(), chunks.rend(), ChunkKind::kEvents, &ChunkRef::kind);
  return last == chunks.rend() ? 0 : last->first_event + last->event_count;
}

// Whether the trailer of a finished tape is at `at`, followed only by bytes that its writer had no
// time to remove.
bool is_end(const TapeFile& file, uint64_t at) {
  std::array<uint8_t, kTrailerBytes> trailer{};
  std::array<uint8_t, kTrailerBytes> behind{};
  return file.read_at(at, trailer) && unpack_trailer(trailer) &&
         file.read_at(at + kTrailerBytes, behind) &&
         std::ranges::all_of(behind, [](uint8_t byte) { return byte == 0; });
}

// For a tape that does not end in a trailer.
base::Result<TapeOutline> outline_unfinished(TapeFile& file, DamageLog& damage) {
  HEAPTAPE_ASSIGN_OR_RETURN(Walk found, walk(file, file.bytes(), damage));
  const bool has_index = !found.chunks.empty() && found.chunks.back().kind == ChunkKind::kIndex;
  if (has_index) {
    if (!is_end(file, found.end)) {
      HEAPTAPE_RETURN_IF_ERROR(damage.note(
          {found.end, file.bytes() - found.end, 0, "a trailer should end the file here"}));
    }
    return TapeOutline{std::move(found.chunks), {}, {}};
  }
  leave_torn_chunk_out(file, found);
  TapeOutline outline{std::move(found.chunks), found.end, {}};
  load_tail(file, found.end, events_of(outline.chunks), outline);
  return outline;
}

// Whether its writer has continued: a whole chunk is now where the tape was cut.
bool has_grown(const TapeFile& file, const TapeOutline& outline) {
  const auto header = outline.cut_at ? file.chunk_header_at(*outline.cut_at) : std::nullopt;
  if (!header || header->kind == ChunkKind::kPart) return false;
  return file.load_frame({*outline.cut_at, header->kind, header->event_count, header->first_event})
      .ok();
}

}  // namespace

base::Result<TapeOutline> outline_of(TapeFile& file, DamageLog& damage) {
  for (int attempt = 0;; ++attempt) {
    const std::optional<uint64_t> index_offset = find_index(file);
    if (index_offset) {
      if (auto index = load_index(file, *index_offset)) {
        return TapeOutline{std::move(*index), {}, {}};
      }
      HEAPTAPE_RETURN_IF_ERROR(damage.note({*index_offset, 0, 0, "its index is damaged"}));
      HEAPTAPE_ASSIGN_OR_RETURN(Walk found, walk(file, file.bytes() - kTrailerBytes, damage));
      return TapeOutline{std::move(found.chunks), {}, {}};
    }
    const DamageLog before = damage;
    HEAPTAPE_ASSIGN_OR_RETURN(TapeOutline outline, outline_unfinished(file, damage));
    if (attempt == kMaxAttempts || !has_grown(file, outline)) return outline;
    damage = before;
    file.refresh();
  }
}

base::Result<uint64_t> check_sequence(Chunks& chunks, uint64_t first, DamageLog& damage) {
  Chunks in_order;
  uint64_t events = first;
  uint64_t previous_offset = 0;
  for (const ChunkRef& chunk : chunks) {
    if (chunk.kind == ChunkKind::kEvents || chunk.kind == ChunkKind::kPart) {
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
  return events - first;
}

}  // namespace heaptape::schema
