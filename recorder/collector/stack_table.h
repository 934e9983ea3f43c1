// The call stacks of one process, as its tape has them: frames that several threads have are on it
// once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/address/address_range.h"
#include "schema/tape/stack.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::recorder {

// Memory grows with frames: some 50 bytes for each. One thread: the collector's. Nothing takes
// long, however many frames there are, so that nobody waits for it in vain.
class StackTable {
 public:
  // `tape` outlives the table.
  explicit StackTable(schema::TapeEncoder& tape) : tape_(tape) {}

  // Its number on the tape, onto which it is put if it is new; 0 when that has all the frames that
  // it may have. frame.caller is on the tape, or 0.
  schema::FrameNumber find_or_add(const schema::Frame& frame);

  // All code that the process has mapped now. What is new goes onto the tape.
  void note_code(const std::vector<schema::CodeMapping>& mappings);

 private:
  static constexpr int kShardsLog2 = 8;
  static constexpr int kFirstPlacesLog2 = 2;

  struct Place {
    schema::Frame frame;
    schema::FrameNumber number;  // 0: the place is free
  };
  // A hash table with linear probing: one of many, each of which grows by itself.
  struct Shard {
    // The frame's place, or the free one where it belongs.
    Place& find(const schema::Frame& frame, uint64_t hash);
    bool is_full() const { return (used + 1) * 4 > places.size() * 3; }
    void grow();

    std::vector<Place> places = std::vector<Place>(size_t{1} << kFirstPlacesLog2);
    size_t used = 0;
    int shift = 64 - kFirstPlacesLog2;
  };

  static uint64_t hash_of(const schema::Frame& frame);
  void forget_code(const base::AddressRange& range);

  schema::TapeEncoder& tape_;
  std::array<Shard, size_t{1} << kShardsLog2> shards_;
  schema::FrameNumber frames_ = 0;
  std::map<uint64_t, schema::CodeMapping> code_;  // by where it begins; they do not overlap
};

}  // namespace heaptape::recorder
