// The one way from an imported trace onto a tape: tracks live blocks and corrects the impossible.
// docs/howto-import.md, "What is put right".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/address/simulated_places.h"
#include "recorder/import/live_blocks.h"
#include "schema/tape/op.h"
#include "schema/tape/tape_writer.h"

namespace heaptape::recorder {

// Blocks have keys: their addresses or, in a trace without addresses, any number but 0 that is
// unique among the live blocks.
struct TraceCall {
  schema::Op op = schema::Op::kMalloc;
  uint64_t thread = 0;     // any number
  uint64_t block = 0;      // returned by the call; 0 if none
  uint64_t old_block = 0;  // given up by the call; 0 if none
  uint64_t size = 0;
  uint64_t alignment = 0;
  std::optional<uint64_t> time_ns = {};  // from any moment on
};

// Differences between the trace and the tape.
struct ImportTroubles {
  struct Piece {
    uint64_t at = 0;   // the line, or the byte of a binary trace
    std::string text;  // the line, or what is wrong with the bytes
  };
  static constexpr size_t kMostPieces = 5;

  std::vector<Piece> malformed_pieces;  // the first
  uint64_t malformed = 0;
  uint64_t missed_frees = 0;     // inserted: the block's address was handed out again
  uint64_t unknown_frees = 0;    // dropped: no call before handed the block out
  uint64_t double_frees = 0;     // dropped: the block had just been freed
  uint64_t unknown_resizes = 0;  // of such blocks: on the tape as resizes of NULL
  uint64_t other_calls = 0;      // dropped: of processes other than the trace's first
};

// Guarantees, whatever add() is given:
// - on the tape no live block is handed out, and only live blocks are given up;
// - each call is on the tape or in troubles();
// - memory grows with the most blocks, and the threads, that were ever live at once.
// One thread.
class ImportedEvents {
 public:
  enum class Addresses : uint8_t { kOfTrace, kMadeUp };

  ImportedEvents(schema::TapeWriter& tape, Addresses addresses)
      : tape_(tape), addresses_(addresses), just_freed_(kJustFreed) {}

  // False if the call is impossible (an address or a size that no process has). Count it as
  // malformed.
  bool add(const TraceCall& call);
  void end_thread(uint64_t thread);
  // `text` is untrusted and may be long.
  void add_malformed(uint64_t at, std::string_view text);
  void add_other_process() { ++troubles_.other_calls; }

  const ImportTroubles& troubles() const { return troubles_; }
  bool has_times() const { return first_ns_.has_value(); }
  uint64_t duration_ns() const { return last_ns_; }
  // True if nothing more can be written.
  bool is_stopped() const { return !tape_.status().ok(); }

 private:
  // A free that finds no block but is in this hash table, of 512 KiB, is a double free.
  static constexpr size_t kJustFreed = size_t{1} << 16;

  bool allocate(const TraceCall& call, uint32_t thread);
  bool resize(const TraceCall& call, uint32_t thread);
  void release(const TraceCall& call, uint32_t thread);
  void append_failed(const TraceCall& call, uint32_t thread);
  // The address of the new block; nothing if it cannot have one.
  std::optional<uint64_t> place_of(const TraceCall& call, const LiveBlock* resized);
  void free_missed(uint64_t key, uint32_t thread);
  void forget(const LiveBlock* block);
  uint32_t number_of(uint64_t thread);
  void note_time(uint64_t time_ns);

  schema::TapeWriter& tape_;
  Addresses addresses_;
  LiveBlocks live_;
  base::SimulatedPlaces places_;
  std::vector<uint64_t> just_freed_;
  std::unordered_map<uint64_t, uint32_t> threads_;
  uint32_t thread_count_ = 0;
  uint64_t last_thread_ = UINT64_MAX;
  uint32_t last_number_ = 0;
  std::optional<uint64_t> first_ns_;
  uint64_t last_ns_ = 0;        // since then
  uint64_t sampled_ns_ = 0;     // of the last sample on the tape
  uint64_t sampled_event_ = 0;  // the same
  ImportTroubles troubles_;
};

}  // namespace heaptape::recorder
