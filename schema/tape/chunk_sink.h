// Where the chunks of a tape go while it is being recorded: from the encoder, which fills columns,
// to the writer, which compresses and writes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "schema/tape/event_columns.h"

namespace heaptape::schema {

// The size classes that each chunk is encoded with. The first chunk has those that are likely. The
// second and every eighth after it are encoded with each kind, and the one that makes it smallest
// serves that chunk and the next seven. The writer of the chunks decides. If the encoder asks
// before that, it encodes that chunk with each kind, too, so the bytes of a tape do not depend on
// timing. One thread decides, another may ask.
class SizeClassChoice {
 public:
  static constexpr uint64_t kChunksPerTrial = 8;

  explicit SizeClassChoice(SizeClasses likely) { decide(0, likely); }

  static bool is_trial(uint64_t chunk) { return chunk % kChunksPerTrial == 1; }
  void decide(uint64_t chunk, SizeClasses classes) {
    decided_.store(trial_of(chunk) * kSizeClassKinds + static_cast<uint64_t>(classes),
                   std::memory_order_release);
  }
  // Nothing if the chunk needs each kind.
  std::optional<SizeClasses> of(uint64_t chunk) const {
    const uint64_t decided = decided_.load(std::memory_order_acquire);
    if (is_trial(chunk) || decided / kSizeClassKinds != trial_of(chunk)) return std::nullopt;
    return static_cast<SizeClasses>(decided % kSizeClassKinds);
  }

 private:
  // Trials are numbered from 1; the first chunk has none.
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
  // The size classes that the chunk is to be encoded with; nothing: each kind.
  virtual std::optional<SizeClasses> size_classes(uint64_t chunk_number) const = 0;
  // The last chunk of full effort that was written is so small that low effort would make chunks
  // several times as large.
  virtual bool effort_pays() const { return false; }
};

}  // namespace heaptape::schema
