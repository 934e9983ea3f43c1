// Where the chunks of a tape go while it is being recorded: from the encoder, which fills columns,
// to the writer, which compresses and writes them.
#pragma once

#include <atomic>
#include <cstdint>

#include "schema/tape/event_columns.h"

namespace heaptape::schema {

// How the frees of each chunk are encoded. Every eighth chunk is encoded in both ways, and the
// smaller one serves that chunk and the next seven. The writer of the chunks decides. If the
// encoder asks before that, it also encodes that chunk in both ways, so the bytes of a tape do not
// depend on timing. One thread decides, another may ask.
class FreedChoice {
 public:
  static bool is_trial(uint64_t chunk) { return chunk % kChunksPerTrial == 0; }
  void decide(uint64_t chunk, FreedEncoding encoding) {
    decided_.store(trial_of(chunk) * 2 + static_cast<uint64_t>(encoding),
                   std::memory_order_release);
  }
  FreedMode mode(uint64_t chunk) const {
    const uint64_t decided = decided_.load(std::memory_order_acquire);
    if (is_trial(chunk) || decided / 2 != trial_of(chunk)) return FreedMode::kTrial;
    return decided % 2 == static_cast<uint64_t>(FreedEncoding::kLastFreed) ? FreedMode::kLastFreed
                                                                           : FreedMode::kLastUsed;
  }

 private:
  static constexpr uint64_t kChunksPerTrial = 8;
  static uint64_t trial_of(uint64_t chunk) { return chunk / kChunksPerTrial + 1; }

  std::atomic<uint64_t> decided_{0};  // 0: nothing yet
};

class ChunkSink {
 public:
  virtual ~ChunkSink() = default;

  // Takes a chunk that is not empty. Returns empty columns for a later one, perhaps with memory.
  virtual EventColumns write(EventColumns chunk) = 0;
  // Takes what was added to the chunk that is being filled.
  virtual void save(EventPart part) = 0;
  // How the frees of that chunk are to be encoded.
  virtual FreedMode freed_mode(uint64_t chunk_number) const = 0;
};

}  // namespace heaptape::schema
