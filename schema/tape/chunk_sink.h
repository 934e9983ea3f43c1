// Where the chunks of a tape go while it is being recorded: from the encoder, which fills columns,
// to the writer, which compresses and writes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "schema/tape/event_columns.h"

namespace heaptape::schema {

// By which size classes the blocks of each chunk are encoded. The first chunk has those that are
// likely. The second and every eighth after it are encoded by all, and those that make it smallest
// serve that chunk and the next seven. The writer of the chunks decides. If the encoder asks before
// that, it also encodes that chunk by all, so the bytes of a tape do not depend on timing. One
// thread decides, another may ask.
class SizeClassChoice {
 public:
  explicit SizeClassChoice(SizeClasses likely) { decide(0, likely); }

  static bool is_trial(uint64_t chunk) { return chunk % kChunksPerTrial == 1; }
  void decide(uint64_t chunk, SizeClasses classes) {
    decided_.store(trial_of(chunk) * kSizeClassings + static_cast<uint64_t>(classes),
                   std::memory_order_release);
  }
  // Nothing: by all.
  std::optional<SizeClasses> of(uint64_t chunk) const {
    const uint64_t decided = decided_.load(std::memory_order_acquire);
    if (is_trial(chunk) || decided / kSizeClassings != trial_of(chunk)) return std::nullopt;
    return static_cast<SizeClasses>(decided % kSizeClassings);
  }

 private:
  static constexpr uint64_t kChunksPerTrial = 8;
  // 0 of the first chunk, which has none.
  static uint64_t trial_of(uint64_t chunk) {
    return (chunk + kChunksPerTrial - 1) / kChunksPerTrial;
  }

  std::atomic<uint64_t> decided_;
};

class ChunkSink {
 public:
  virtual ~ChunkSink() = default;

  // Takes a chunk that is not empty. Returns empty columns for a later one, perhaps with memory.
  virtual EventColumns write(EventColumns chunk) = 0;
  // Takes what was added to the chunk that is being filled.
  virtual void save(EventPart part) = 0;
  // By which the blocks of that chunk are to be encoded; nothing: by all.
  virtual std::optional<SizeClasses> size_classes(uint64_t chunk_number) const = 0;
};

}  // namespace heaptape::schema
