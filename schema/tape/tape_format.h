// The fixed-width parts of a tape file. docs/tape-format.md is the specification; this file, the
// writer, the reader and that page say the same thing. All integers are little-endian.
#pragma once

#include <cstdint>

namespace heaptape::schema {

inline constexpr uint8_t kMagic[8] = {0x89, 'H', 'T', 'A', 'P', 'E', '\r', '\n'};
inline constexpr uint16_t kMajorVersion = 2;
inline constexpr uint16_t kMinorVersion = 0;

// Preamble: magic[8] major:u16 minor:u16 crc32:u32 (of the 12 bytes before it)
inline constexpr uint64_t kPreambleBytes = 16;

// Chunk header: marker:u32 kind:u32 payload_bytes:u32 event_count:u32 first_event:u64
//               payload_crc32:u32 header_crc32:u32 (of the 28 bytes before it)
inline constexpr uint64_t kChunkHeaderBytes = 32;
inline constexpr uint32_t kChunkMarker = 0x6b635448;  // "HTck"

// Trailer, the last bytes of a finished tape: index_offset:u64 marker:u32 crc32:u32 (of 12 bytes)
inline constexpr uint64_t kTrailerBytes = 16;
inline constexpr uint32_t kTrailerMarker = 0x646e5448;  // "HTnd"

enum class ChunkKind : uint32_t {
  kHeader = 1,       // TapeHeader, once, first
  kEvents = 2,       // EventChunk
  kSummary = 3,      // TapeSummary, once, after the last events
  kIndex = 4,        // TapeIndex, once, last
  kPart = 5,         // EventPart, only in an unfinished tape, behind its last whole chunk
  kThreads = 6,      // ThreadList, once, before the summary; tapes without names have none
  kKeyframe = 8,     // EventChunk: the blocks that are live behind the chunk before; may repeat
  kInheritance = 9,  // Inheritance, once, anywhere; only of a process that was forked
  // Reserved: 7 for mappings of the process.
};

// Limits that a reader holds a hostile tape to.
inline constexpr uint32_t kMaxPayloadBytes = 64u << 20;  // of one compressed frame
inline constexpr uint64_t kMaxMessageBytes = 64u << 20;  // of one decompressed message
inline constexpr uint32_t kMaxEventsPerChunk = 1u << 20;

// The number of events at which the writer ends a chunk. More gains little (65,536 -> 262,144
// events: 1-7 % of the bytes on the tapes of docs/benchmarks.md) and costs more memory.
inline constexpr uint32_t kEventsPerChunk = 1u << 16;
// A chunk also ends when its samples, marks, frames and mappings take this much: a program that
// hardly allocates is sampled too, and each of its calls may come from a deep new stack.
inline constexpr uint64_t kSampleBytesPerChunk = 4u << 20;
// Calls that steer the allocator, of five bytes each or more.
inline constexpr size_t kMostSteeringPerChunk = kSampleBytesPerChunk / 5 + 1;
// Calls that map memory, of seven bytes each or more.
inline constexpr size_t kMostMappedPerChunk = kSampleBytesPerChunk / 7 + 1;

// The distance from the last whole chunk to the saved parts of the next one: a hole that takes no
// room on the disk. Larger than any chunk (60 bytes an event, and its samples), so that a chunk
// does not overwrite its own parts before it is whole.
inline constexpr uint64_t kPartGapBytes = 8u << 20;

}  // namespace heaptape::schema
