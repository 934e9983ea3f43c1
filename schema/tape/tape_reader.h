// Reads a tape from front to back, from any event on. docs/tape-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/tape/event_decoder.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/tape_info.h"

namespace heaptape::schema {

// A stretch of the file that could not be read.
struct Damage {
  uint64_t offset = 0;       // where it begins
  uint64_t bytes = 0;        // how long it is
  uint64_t lost_events = 0;  // as far as the chunks around it tell
  std::string reason;
};

// Some consecutive events and what was seen of the process while they happened.
struct EventBatch {
  uint64_t first_event = 0;  // calls before events[0]
  std::vector<Event> events;
  std::vector<TimeSample> times;
  std::vector<ProcessSample> samples;
};

// Memory is bounded by one chunk, whatever the tape's length. One thread.
class TapeReader {
 public:
  enum class OnDamage : uint8_t {
    kStop,  // the first damaged byte is an error that says where it is and what to do
    kSkip,  // damage is listed in damages() and reading goes on behind it
  };

  static base::Result<TapeReader> open(const std::string& path,
                                       OnDamage on_damage = OnDamage::kStop);

  TapeReader(TapeReader&&) noexcept;
  TapeReader& operator=(TapeReader&&) noexcept;
  ~TapeReader();

  const std::string& path() const { return path_; }
  uint64_t file_bytes() const { return file_bytes_; }
  const TapeHeader& header() const { return header_; }
  // Nothing for a tape whose writer did not come to its end.
  const std::optional<TapeSummary>& summary() const { return summary_; }
  const std::vector<ChunkRef>& chunks() const { return chunks_; }
  // Calls on the tape, by its chunks.
  uint64_t events() const { return event_count_; }
  const std::vector<Damage>& damages() const { return damages_; }

  // Continues at the given event (0-based; at most events()), or behind it where it is lost.
  base::Status seek(uint64_t event);
  // Replaces `batch` with the next events, at most `max_events`. Empty at the end of the tape.
  base::Status read(EventBatch& batch, size_t max_events);

 private:
  class File;
  TapeReader(std::string path, std::unique_ptr<File> file, OnDamage on_damage);

  base::Status open_contents();
  base::Status load_header();
  base::Status load_index();
  base::Status scan_chunks(uint64_t end);
  base::Status load_summary();
  base::Status check_sequence();
  base::Status note_gap(uint64_t previous_offset, const ChunkRef& chunk, uint64_t events);
  base::Status note_damage(Damage damage);
  base::Result<std::vector<uint64_t>> load_message(const ChunkRef& chunk, uint64_t* chunk_bytes);
  base::Result<bool> load_next_chunk();
  base::Error describe_damage(const Damage& damage) const;

  std::string path_;
  std::unique_ptr<File> file_;
  OnDamage on_damage_;
  uint64_t file_bytes_ = 0;
  TapeHeader header_;
  std::optional<TapeSummary> summary_;
  std::vector<ChunkRef> chunks_;
  std::vector<Damage> damages_;
  uint64_t event_count_ = 0;
  size_t next_chunk_ = 0;    // in chunks_
  uint64_t chunks_end_ = 0;  // where the last chunk read ended
  EventDecoder decoder_;
  size_t next_time_ = 0;    // in decoder_.times()
  size_t next_sample_ = 0;  // in decoder_.samples()
};

}  // namespace heaptape::schema
