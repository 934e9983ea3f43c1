// Changes to a tape that leave its checksums right, so that they reach what lies behind them. A
// program that links tape_mutator.cc has libFuzzer make its inputs this way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schema/tape/chunk.h"

namespace heaptape::fuzz {

// A tape taken apart.
struct LooseTape {
  struct Chunk {
    schema::ChunkHeader header;     // its payload's size and checksum are join()'s to fill in
    std::vector<uint64_t> message;  // decompressed
  };

  std::vector<uint8_t> preamble;
  std::vector<Chunk> chunks;  // as far as they are whole
  std::vector<uint8_t> tail;  // the rest: the trailer, or damage
};

// Nothing if there is not one whole chunk.
std::optional<LooseTape> split(std::span<const uint8_t> bytes);

enum class Ending : uint8_t {
  kKeep,   // index and trailer as they are, right or wrong
  kRenew,  // an index and a trailer that name the chunks there are
};

std::vector<uint8_t> join(LooseTape tape, Ending ending);

}  // namespace heaptape::fuzz
