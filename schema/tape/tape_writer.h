// Writes a tape: events in, chunks out. docs/tape-format.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/event_encoder.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/tape_info.h"

namespace heaptape::schema {

// Writes a tape. Guarantees:
// - The file stands under its own name only after finish(), and is whole then. Until then it grows
//   as "PATH.partial".
// - A killed writer leaves that, and every chunk in it can be read. At most two chunks of events
//   are missing: the one that was being filled and the one that was being compressed.
// - An event once appended is in the file or counted as lost; failures never stop the caller.
// - A full disk leaves a whole tape that is cut short, if the file system grants reserves
//   (fallocate): each chunk is written only where summary and index still find room behind it.
// - The same header, events, samples and flushes give the same bytes, however step() is called.
// Memory is bounded by two chunks and the index. One thread.
class TapeWriter {
 public:
  static base::Result<std::unique_ptr<TapeWriter>> create(const std::string& path,
                                                          const TapeHeader& header);

  // Compresses in the background of the caller: a full chunk is only set aside here, and step()
  // works it off. Requires event addresses below kAddressLimit.
  void append(const Event& event) {
    if (encoder_.full() || !encoder_.accepts(event)) [[unlikely]]
      make_room(event);
    encoder_.append(event);
    ++counts_.ops[static_cast<uint8_t>(event.op)];
    if (event.thread >= counts_.threads) [[unlikely]]
      counts_.threads = uint64_t{event.thread} + 1;
    if (event.address == 0 && is_failed(event)) [[unlikely]]
      ++counts_.failed;
  }
  // Nanoseconds since the recording of this process began, at the events appended so far.
  void add_time(uint64_t time_ns) { encoder_.add_time(time_ns); }
  // Sets sample.event to the number of events so far.
  void add_sample(ProcessSample sample);

  // Does one small slice of outstanding compression; true while there is more.
  bool step();
  // Puts everything appended so far into whole chunks in the file.
  void flush();

  // Calls on the tape so far, in memory or in the file.
  uint64_t events() const { return first_event_ + encoder_.count(); }
  // Bytes of the file so far.
  uint64_t bytes() const { return file_.size(); }
  // The first failure to write, if there was one; the events since are lost and counted.
  const base::Status& status() const { return status_; }

  // Writes summary, index and trailer, and gives the file its name. `summary` needs everything but
  // the counts of events and threads, which the writer knows; its lost_events are added to the
  // writer's own. Returns the summary as written. The tape is whole, though cut short, after a full
  // disk; the error of any other failure comes back here.
  base::Result<TapeSummary> finish(TapeSummary summary);

 private:
  struct Counts {
    std::array<uint64_t, kOpLimit> ops{};
    uint64_t threads = 0;
    uint64_t failed = 0;
  };

  explicit TapeWriter(base::OutputFile file);

  void make_room(const Event& next);
  void set_chunk_aside();
  void choose_freed_encoding();
  FreedMode next_freed_mode() const;
  void write_pending();
  void lose(uint32_t events, const base::Error& error);
  base::Status write_chunk(ChunkHeader header, std::span<const uint8_t> frame,
                           uint64_t reserve_bytes);
  base::Status write_message(ChunkKind kind, std::vector<uint64_t> words, uint64_t reserve_bytes);
  uint64_t footer_bytes() const;
  void fill_counts(TapeSummary& summary) const;

  base::OutputFile file_;
  EventEncoder encoder_;
  FrameCompressor compressor_;
  ChunkHeader pending_;  // of the chunk in compressor_
  std::vector<ChunkRef> index_;
  base::Status status_;
  uint64_t first_event_ = 0;  // of the chunk in encoder_
  uint64_t lost_events_ = 0;
  Counts counts_;          // of every event appended
  Counts pending_counts_;  // up to the chunk in compressor_
  Counts written_counts_;  // up to the last chunk in the file
  int unit_log2_ = 4;
  uint32_t chunks_until_trial_ = 0;
  FreedEncoding freed_encoding_ = FreedEncoding::kLastFreed;
};

}  // namespace heaptape::schema
