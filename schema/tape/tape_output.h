// The second half of writing a tape: compresses chunks and puts them into the file.
// docs/tape-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/chunk_sink.h"
#include "schema/tape/info_codec.h"
#include "schema/tape/tape_info.h"
#include "schema/tape/tape_window.h"

namespace heaptape::schema {

// The file of one tape. Guarantees:
// - The file has its own name only after finish(), and is whole then. Until then it grows as
//   "PATH.partial", from the first chunk or part on. A tape of one chunk is written in one go.
// - A killed writer leaves every chunk that was written, and after them the parts that were saved
//   since.
// - An event once handed over is in the file or counted as lost; failures do not stop the caller.
// - A full disk leaves a whole tape that is cut short, if the file system grants reserves
//   (fallocate): a chunk is written only if the summary and index still fit after it.
// - The same header and chunks give the same bytes, whatever was saved in between.
// Memory is bounded by one chunk and the index; with a window, by that and those. One thread,
// except for size_classes().
class TapeOutput {
 public:
  TapeOutput(std::string path, TapeHeader header);

  // Opens the file now, to learn whether that works; or takes an empty one that has been made for
  // it. Optional: the first chunk opens it otherwise.
  base::Status open(FrameCompressor& compressor, std::unique_ptr<base::OutputFile> made = nullptr);

  // Once, at any time before finish(). Does not fail either: such a tape is worth having without
  // it.
  void add_inheritance(const Inheritance& inheritance, FrameCompressor& compressor);
  // From now on, before the first chunk, only the last ones are kept, as TapeWindow does: finish()
  // writes them. Nothing is saved until then. On a full disk, the oldest of them are lost, and
  // counted.
  void keep_last(const KeepLast& keep, std::shared_ptr<WindowFile> file = nullptr) {
    window_ = std::make_unique<TapeWindow>(keep, std::move(file));
  }
  // With a window: the whole tape that finish({}, summary) would write now, to another file. Fails
  // with kNoSpace, and leaves no file, if the disk has no room for it.
  base::Result<TapeSummary> write_copy(const std::string& path, const TapeSummary& summary,
                                       FrameCompressor& compressor);
  // With a window. How much it may have from now on.
  void set_window_bytes(uint64_t bytes);

  // Behind the chunks so far: the events up to the keyframe. Adds nothing if it would take more
  // than `most_bytes`, or if the disk is full. Returns what it took. Without a window.
  uint64_t add_keyframe(std::span<const EventColumns> keyframe, uint64_t most_bytes,
                        FrameCompressor& compressor);

  // Neither fails: see status().
  void write(const EventColumns& chunk, FrameCompressor& compressor);
  void save(const EventPart& part, FrameCompressor& compressor);
  // Any thread may ask.
  std::optional<SizeClasses> size_classes(uint64_t chunk_number) const {
    return choice_.of(chunk_number);
  }

  // Writes the last chunk, unless it is empty, then summary, index and trailer, and gives the file
  // its name. `summary` needs everything but the counts of events and threads and the largest
  // sample, which are known here; its lost_events are added to those of the writer. Returns the
  // summary as written. The tape is whole, though cut short, after a full disk; the error of any
  // other failure comes back here.
  base::Result<TapeSummary> finish(const EventColumns& last, const TapeSummary& summary,
                                   FrameCompressor& compressor);

  const std::string& path() const { return path_; }
  // The size of the file so far, without parts; or of what is kept.
  uint64_t bytes() const { return window_ ? window_->bytes() : file_bytes(); }
  // Compressed, of the last chunk that was written.
  uint64_t last_chunk_bytes() const { return last_chunk_bytes_; }
  // Calls handed over so far.
  uint64_t events() const { return events_; }
  // The first failure to write, if there was one; the events since are lost and counted.
  const base::Status& status() const { return status_; }

 private:
  uint64_t file_bytes() const { return file_ ? file_->size() : image_.size(); }
  base::Status begin(FrameCompressor& compressor);
  base::Status write_chunk(const EventColumns& chunk, FrameCompressor& compressor);
  SizeClasses choose_size_classes(const EventColumns& chunk, FrameCompressor& compressor);
  base::Status save_part(const EventPart& part, FrameCompressor& compressor);
  base::Status put_events(const EventColumns& chunk, std::span<const uint8_t> frame);
  base::Status put_window(TapeWindow& window, std::optional<Inheritance> inheritance,
                          FrameCompressor& compressor);
  base::Status put_beginning(const TapeWindow& window, FrameCompressor& compressor);
  base::Status reserve_for(const TapeWindow& window);
  base::Status make_room_for(TapeWindow& window);
  base::Status put(ChunkHeader header, std::span<const uint8_t> frame, uint64_t reserve_bytes);
  base::Status reserve(uint64_t bytes);
  base::Status append(std::span<const uint8_t> bytes);
  base::Result<TapeSummary> put_footer(TapeSummary summary, FrameCompressor& compressor);
  base::Status put_summary(const TapeSummary& summary, FrameCompressor& compressor);
  base::Status put_threads(const TapeSummary& summary, FrameCompressor& compressor);
  base::Status put_inheritance(const Inheritance& inheritance, FrameCompressor& compressor);
  base::Status name_file();
  void rest_if_short();
  void lose(uint64_t events, const base::Error& error);
  void forget_chunks();
  uint64_t footer_bytes() const;
  void fill_counts(TapeSummary& summary) const;
  base::Result<TapeSummary> end(const TapeSummary& summary, FrameCompressor& compressor);

  std::string path_;
  TapeHeader header_;
  std::vector<uint8_t> image_;            // of the file, as long as it is not open
  std::optional<base::OutputFile> file_;  // open
  std::vector<ChunkRef> index_;
  base::Status status_;
  SizeClasses size_classes_;
  SizeClassChoice choice_;
  uint64_t last_chunk_bytes_ = 0;
  uint64_t events_ = 0;
  uint64_t lost_events_ = 0;
  uint64_t carried_events_ = 0;  // of those written, those that stand for dropped ones
  ChunkCounts written_;
  std::unique_ptr<TapeWindow> window_;      // null: chunks go to the file at once
  std::optional<Inheritance> inheritance_;  // with a window
  uint64_t parts_end_ = 0;    // of the chunk that is being filled; 0: it has none in the file
  uint32_t parts_count_ = 0;  // events in them
};

}  // namespace heaptape::schema
