// The call stacks of one process, as its tape has them: frames that several threads have are on it
// once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/address/address_range.h"
#include "recorder/ring/near_callees.h"
#include "schema/tape/stack.h"
#include "schema/tape/tape_encoder.h"

namespace heaptape::recorder {

// Memory grows with frames: some 40 bytes for each. One thread: the collector's. Nothing takes
// long, however many frames there are, so that nobody waits for it in vain.
class StackTable {
 public:
  // `tape` outlives the table, or its use for that tape.
  explicit StackTable(schema::TapeEncoder& tape) : tape_(&tape) { nodes_.add({}); }

  // All goes onto another tape from now on, which has no frame yet. Those that are known go there
  // at once, and so keep their numbers.
  void change_tape(schema::TapeEncoder& tape);

  // Its number on the tape, onto which it is put if it is new; 0 when that has all the frames that
  // it may have. frame.caller is on the tape, or 0.
  schema::FrameNumber find_or_add(const schema::Frame& frame);

  // Whether a frame pointer led nowhere after a frame or two: the program keeps none. (Where it
  // does they lead at least to libc's first function, which may not.)
  bool ends_at_once(schema::FrameNumber stack);

  // The addresses of calls, in frames that are new since the last call, that lie in no file as far
  // as is known.
  std::vector<uint64_t> take_calls_of_no_file() { return std::exchange(calls_of_no_file_, {}); }

  // All code that the process has mapped now. What is new goes onto the tape.
  void note_code(const std::vector<schema::CodeMapping>& mappings);

 private:
  // Half a cache line.
  struct alignas(32) Node {
    uint64_t word;  // return address, with schema::kGuessFlag
    schema::FrameNumber caller : 31;
    uint32_t is_spilled : 1;  // a shard has all of its callees
    NearCallees callees;      // all unless it is spilled
  };
  // By number, in pieces that stay where they are: to move all would take long.
  class Nodes {
   public:
    Node& operator[](schema::FrameNumber number) {
      return pieces_[number / kPieceNodes][number % kPieceNodes];
    }
    // Behind the last one.
    void add(const Node& node);

   private:
    static constexpr schema::FrameNumber kPieceNodes = 1u << 13;

    std::vector<std::unique_ptr<Node[]>> pieces_;
    schema::FrameNumber count_ = 0;
  };

  static constexpr int kShardsLog2 = 8;
  static constexpr int kFirstPlacesLog2 = 2;

  struct Place {
    uint64_t hash;
    schema::FrameNumber number;  // 0: the place is free
  };
  // A hash table with linear probing: one of many, each of which grows by itself.
  struct Shard {
    // The first place from that of the hash on for which stop(place) is true.
    template <typename Stop>
    Place& probe(uint64_t hash, Stop stop);
    void add(const Place& place);
    void grow();

    std::vector<Place> places = std::vector<Place>(size_t{1} << kFirstPlacesLog2);
    size_t used = 0;
    int shift = 64 - kFirstPlacesLog2;
  };

  bool is(schema::FrameNumber number, schema::FrameNumber caller, uint64_t word);
  schema::FrameNumber find(schema::FrameNumber caller, uint64_t word);
  void add_callee(schema::FrameNumber number);
  void add_place(schema::FrameNumber number);
  Shard& shard_of(uint64_t hash) { return shards_[hash >> (64 - kShardsLog2)]; }
  void forget_code(const base::AddressRange& range);
  void note_call(uint64_t address);

  schema::TapeEncoder* tape_;
  Nodes nodes_;  // the first stands for no caller
  std::array<Shard, size_t{1} << kShardsLog2> shards_;
  schema::FrameNumber frames_ = 0;
  std::map<uint64_t, schema::CodeMapping> code_;  // by where it begins; they do not overlap
  base::AddressRange last_code_;                  // in which a call was; not forgotten since
  std::vector<uint64_t> calls_of_no_file_;
};

}  // namespace heaptape::recorder
